/**
 * `k8ts join`: makes this machine a node of a cluster that runs elsewhere: it checks the cluster by the
 * token and the pinned authority, gets a certificate of its own (TLS bootstrap), and runs containerd, the
 * kubelet, the service proxy and the pod network until it is stopped. A machine that has joined once
 * needs no token again while its certificate is good.
 */
import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import { Command as Parser } from "commander";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { isAuthorityPin } from "#kubelet/bootstrap/authority-pin.ts";
import { isGood } from "#kubelet/bootstrap/bootstrap-kubeconfig.ts";
import { parseBootstrapToken } from "#kubelet/bootstrap/bootstrap-token.ts";
import {
  type ClusterInfo,
  DiscoveryError,
  discoverCluster,
} from "#kubelet/bootstrap/cluster-info.ts";
import { requestClientCertificate } from "#kubelet/bootstrap/request-certificate.ts";
import { runCertificateRotation } from "#kubelet/bootstrap/rotate-certificate.ts";
import { messageOf } from "#lib/caught.ts";
import { Metrics } from "#lib/metrics.ts";
import { networkMarks } from "#network/network-marks.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import { formatKubeconfig, parseKubeconfig } from "#pki/kubeconfig.ts";
import type { Command } from "../command.ts";
import {
  type ProcessSurroundings,
  processSurroundings,
} from "../component/process-surroundings.ts";
import { servingCertificate } from "../component/serving-certificate.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import { collect } from "../flags/flag-values.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { serverUrlOf } from "../flags/server-url.ts";
import { addCertificateMetrics, addClientRotationMetrics } from "../kubelet/certificate-metrics.ts";
import { runNodeProcess } from "../node/run-node-process.ts";
import { nodeRefusal } from "../up/node-requirements.ts";
import { joinControlPlane } from "./join-control-plane.ts";
import { NODE_SETTINGS, type NodeNetworkSettings } from "./join-objects.ts";

interface JoinFlags {
  /** Undefined: as the last time. */
  readonly server: string | undefined;
  readonly token?: string;
  readonly caCertHash: readonly string[];
  readonly unsafeSkipCaVerification?: boolean;
  readonly nodeName: string;
  readonly nodeIp?: string;
  readonly data: string;
  readonly install: boolean;
}

export const joinCommand: Command = {
  name: "join",
  summary:
    "make this machine a node, or a part of the control plane, of a cluster that runs elsewhere",
  flags: () => joinParser().options,
  run: async (args, signal) => {
    try {
      if (args.some((arg) => /^--control-plane(=|$)/.test(arg))) {
        return await joinControlPlane(args, joinParser().options, signal);
      }
      await joinCluster(flagsOf(args), signal);
      return 0;
    } catch (error) {
      if (!(error instanceof DiscoveryError)) return refuseFlags(error);
      return refuseFlags(new FlagError(error.message));
    }
  },
};

function joinParser(): Parser {
  return new Parser("k8ts join")
    .usage("https://HOST:PORT [flags]")
    .allowExcessArguments()
    .description(
      "Makes this machine a node of a cluster. `k8ts token create --print-join-command` prints the command.",
    )
    .option("--token <token>", "a bootstrap token of the cluster")
    .option("--ca-cert-hash <pin>", "sha256:… of the key of the cluster's authority", collect, [])
    .option("--unsafe-skip-ca-verification", "believe the authority that the token signed for")
    .option("--node-name <name>", "the node's name", hostname())
    .option(
      "--node-ip <ip>",
      "the node's address, or one of each family with a comma; that of the default route unless given",
    )
    .option("--data <dir>", "where everything is kept", join(homedir(), ".k8ts-node"))
    .option("--install", "install missing packages", true)
    .option("--no-install", "install no packages")
    .option(
      "--control-plane",
      "make it a machine of the control plane; takes the flags of `k8ts up`, too",
    )
    .option("--certificate-key <key>", "decrypts the cluster's keys, which are handed over")
    .addHelpText("after", EXAMPLES);
}

const EXAMPLES = `
Examples:
  k8ts join https://10.0.0.1:6443 --token abcdef.0123456789abcdef --ca-cert-hash sha256:PIN
  k8ts join https://10.0.0.1:6443 --token TOKEN --ca-cert-hash sha256:PIN --control-plane --certificate-key KEY`;

function flagsOf(args: readonly string[]): JoinFlags {
  const parser = parseArguments(joinParser(), args);
  const { nodeName, data, ...flags } = parser.opts<JoinFlags>();
  const [address, ...more] = parser.args;
  if (more.length > 0) throw new FlagError(`unexpected arguments: ${more.join(" ")}`);
  const wrong = flags.caCertHash.find((pin) => !isAuthorityPin(pin));
  if (wrong !== undefined)
    throw new FlagError(`--ca-cert-hash: ${wrong} is not sha256:<64 hex digits>`);
  const server = address === undefined ? undefined : serverUrlOf(address);
  return { ...flags, server, nodeName: nodeName.trim().toLowerCase(), data: resolve(data) };
}

async function joinCluster(flags: JoinFlags, signal: AbortSignal): Promise<void> {
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  const refusal = await nodeRefusal(flags.install, say, signal);
  if (refusal !== undefined) throw new FlagError(refusal);
  const surroundings = processSurroundings({ logLevel: "info", logFormat: "text" });
  const { clock, random, logger } = surroundings;
  const { nodeName: name, data: dataDir } = flags;
  const kubeconfig = join(dataDir, "nodes", name, "kubelet.kubeconfig");
  const current = await credentials(flags, kubeconfig, surroundings, signal);
  using transport = new HttpsTransport(connectionOf(kubeconfig, ""), "kubelet");
  const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
  const settings = await readSettings(client, signal);
  const save = (pair: KeyPair): Promise<void> =>
    saveKubeconfig(kubeconfig, name, current.info, pair);
  const kubeletMetrics = new Metrics();
  const tls = servingCertificate({ certFile: "", keyFile: "" }, name, clock);
  addCertificateMetrics(kubeletMetrics, { file: kubeconfig, serving: tls, clock });
  const rotating = runCertificateRotation(
    {
      metrics: addClientRotationMetrics(kubeletMetrics),
      ...{ what: "client certificate", current: current.client, clock, random, logger, save },
      request: (signal) => requestClientCertificate(client, name, clock, signal),
    },
    signal,
  );
  await runNodeProcess(
    {
      ...{ name, dataDir, kubeconfig, proxyKubeconfig: kubeconfig },
      ...(flags.nodeIp === undefined ? {} : { addresses: flags.nodeIp.split(",") }),
      ...{ clusterDns: settings.clusterDns, podRanges: settings.podRanges },
      ...{ podNetwork: settings.podNetwork, networkPolicy: settings.networkPolicy },
      proxyMode: settings.proxyMode,
      kubeletMetrics,
      marks: { ...networkMarks(dataDir), vni: settings.vni },
      serving: {
        ...{ address: "0.0.0.0", clientCa: current.info.authorityPem },
        ...{ tls, anonymous: false, authorization: "Webhook" },
      },
    },
    surroundings,
    () => say(`This node has joined the cluster ${current.info.server} as ${name}.`),
    signal,
  );
  await rotating;
}

interface Credentials {
  readonly info: ClusterInfo;
  readonly client: KeyPair;
}

/** Those of the last time while they are good, otherwise new ones by the token. */
async function credentials(
  flags: JoinFlags,
  file: string,
  surroundings: ProcessSurroundings,
  signal: AbortSignal,
): Promise<Credentials> {
  const known = parseKubeconfig((await readTextIfPresent(file)) ?? "");
  const isSame = flags.server === undefined || flags.server === known?.server;
  if (known !== undefined && isSame && isGood(known.client, surroundings.clock.nowMs())) {
    const { server, authorityPem } = known;
    return { info: { server, authorityPem }, client: known.client };
  }
  if (flags.server === undefined)
    throw new FlagError("the cluster's address is needed: https://HOST:PORT");
  const token = parseBootstrapToken(flags.token ?? "");
  if (token === undefined)
    throw new FlagError("--token is needed, of the form abcdef.0123456789abcdef");
  if (flags.caCertHash.length === 0 && flags.unsafeSkipCaVerification !== true) {
    throw new FlagError("--ca-cert-hash is needed, or --unsafe-skip-ca-verification");
  }
  const pins = flags.caCertHash.map((pin) => pin.toLowerCase());
  const { clock, random } = surroundings;
  const discovered = await discoverCluster({ server: flags.server, token, pins }, clock, signal);
  // The address that was typed is the one that is known to lead there.
  const info = { ...discovered, server: flags.server };
  const connection = {
    ...{ server: info.server, ca: info.authorityPem },
    token: () => `${token.id}.${token.secret}`,
  };
  using transport = new HttpsTransport(connection, "kubelet");
  const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
  const pair = await requestClientCertificate(client, flags.nodeName, clock, signal).catch(
    (error: unknown) => {
      throw new DiscoveryError(`TLS bootstrap: ${messageOf(error)}`);
    },
  );
  await saveKubeconfig(file, flags.nodeName, info, pair);
  return { info, client: pair };
}

async function saveKubeconfig(
  file: string,
  name: string,
  { server, authorityPem }: ClusterInfo,
  client: KeyPair,
): Promise<void> {
  const content = formatKubeconfig({ server, authorityPem, user: `system:node:${name}`, client });
  await writeFileWhole(file, content, { mode: 0o600, durable: true });
}

async function readSettings(client: Client, signal: AbortSignal): Promise<NodeNetworkSettings> {
  const found = await client.get(configMapKind, NODE_SETTINGS, signal);
  if (!found.ok) {
    const { namespace, name } = NODE_SETTINGS;
    const hint = `the ConfigMap ${namespace}/${name}, which \`k8ts token create\` makes in a cluster of k8ts`;
    throw new FlagError(
      `the settings of nodes are not readable (${hint}): ${found.status.message}`,
    );
  }
  return JSON.parse(found.value.data?.settings ?? "{}") as NodeNetworkSettings;
}
