/** The flags of `k8ts up`. What it does not know itself goes to the API server. */
import { join, resolve } from "node:path";
import { type Option, Command as Parser } from "commander";
import { parseCidr } from "#api/validation/ip.ts";
import { LOCAL_RANGES } from "#cloud/providers/local/local-ranges.ts";
import { urlOf } from "#etcd/etcd-arguments.ts";
import { etcdClientFiles } from "#etcd/etcd-certificates.ts";
import type { DataPlaneName } from "#ingress/data-plane-name.ts";
import { closestWord } from "#lib/text/closest-word.ts";
import {
  POD_NETWORK_MODES,
  type PodNetworkMode,
  podNetworkModeOf,
} from "#network/pod-network-mode.ts";
import { PROXY_MODES, type ProxyMode, proxyModeOf } from "#proxy/proxy-mode.ts";
import { flagParser } from "../apiserver/flags/flag-parser.ts";
import { type ApiServerFlags, parseFlags } from "../apiserver/flags/flags.ts";
import { addControllerFlags } from "../controller-manager/controller-flags.ts";
import { addPaceFlags } from "../controller-manager/pace-flags.ts";
import { addWorkerFlags } from "../controller-manager/worker-flags.ts";
import { each, flag, integer } from "../flags/flag-values.ts";
import { addVersionFlag, FlagError, parseArguments } from "../flags/parse-flags.ts";
import type { Flags } from "../flags/read-flags.ts";
import { serverUrlOf } from "../flags/server-url.ts";
import { dataPlaneOf } from "../ingress/data-plane-flag.ts";
import { nodeCount } from "../simulate/node-count.ts";
import { defaultDataDir } from "./default-data-dir.ts";
import { NODES_MAX } from "./nodes/node-list.ts";
import { splitFlags } from "./split-flags.ts";

/** Of an etcd that k8ts runs itself. */
export interface ManagedEtcdFlags {
  readonly clientPort: number;
  readonly peerPort: number;
  /** `name=value`: more flags of etcd. */
  readonly extra: readonly string[];
}

export interface UpFlags {
  readonly server: ApiServerFlags;
  /** Undefined unless `--etcd managed` was given. */
  readonly etcd: ManagedEtcdFlags | undefined;
  /** `https://HOST:PORT` of the load balancer or DNS name in front of all API servers. */
  readonly controlPlaneEndpoint: string | undefined;
  /** The VXLAN network that all nodes share; by the data directory unless given. */
  readonly vxlanId: number | undefined;
  /** Whether real nodes are part of the cluster. */
  readonly node: boolean;
  /** Whether NetworkPolicies are enforced on the node. */
  readonly networkPolicy: boolean;
  /** Whether the metrics server runs. */
  readonly metrics: boolean;
  /** Whether the dashboard is served, with login by token. */
  readonly dashboard: boolean;
  /** 0: the port of the last start if it is free, or any. */
  readonly dashboardPort: number;
  /** How many simulated nodes the cluster has. */
  readonly simulate: number;
  /** What simulated nodes look like and what their pods do. */
  readonly simulateConfig: string | undefined;
  /** Whether the machine itself is one of them. */
  readonly machineNode: boolean;
  /** How many nodes are network namespaces of this machine. */
  readonly nodes: number;
  readonly podNetwork: PodNetworkMode;
  /** Of the service proxies of all nodes; what each machine can do unless given. */
  readonly proxyMode: ProxyMode | undefined;
  /** Whether missing packages may be installed. */
  readonly install: boolean;
  /** A folder of objects to apply, beside `DIR/manifests`. */
  readonly manifests: string | undefined;
  /** Undefined unless the flag was given. */
  readonly encryptSecrets: boolean | undefined;
  /** Offer directories of the nodes as the default storage. */
  readonly localStorage: boolean;
  /** Give Services of type LoadBalancer addresses of this machine. */
  readonly loadBalancer: boolean;
  /** Serve Ingresses. */
  readonly ingress: boolean;
  readonly ingressDataPlane: DataPlaneName;
  /** CIDRs that those addresses are of. */
  readonly loadBalancerRanges: readonly string[];
  /** Merge the cluster into the user's kubeconfig when it starts in the background. */
  readonly kubeconfig: boolean;
  readonly foreground: boolean;
  /** A cluster for one run: its data goes when it ends. */
  readonly ephemeral: boolean;
  readonly installService: boolean;
  /** Of the controller manager: those that were given, and all with their defaults. */
  readonly controllers: { readonly given: Flags; readonly all: Flags };
}

const PORT_MAX = 65_535;

/** Defaults that differ from those of `k8ts apiserver`. */
const OWN_FLAGS = [
  // Names of nodes mean nothing to a resolver on the machine of a small cluster.
  ...["--kubelet-preferred-address-types", "InternalIP,ExternalIP,Hostname"],
  // Other machines reach it only where that is asked for.
  ...["--bind-address", "127.0.0.1"],
  // Network and storage add-ons run privileged containers.
  "--allow-privileged=true",
];

export function parseUpFlags(args: readonly string[]): UpFlags {
  const parser = upParser();
  parseArguments(parser, args);
  const { data, port, localStorage, encryptSecrets, ...given } = parser.opts<GivenUpFlags>();
  const nodes = nodeCountOf(given.nodes);
  if (nodes > 0 && !given.node) throw new FlagError("--nodes cannot be used with --no-node");
  const managerParser = controllerFlagParser();
  const [rest, managerArgs] = splitFlags(parser.args, [flagParser(), managerParser]);
  parseArguments(managerParser, managerArgs!);
  const etcd = managedEtcdOf(given, rest!);
  const endpoint = given.controlPlaneEndpoint;
  const controlPlaneEndpoint = endpoint === undefined ? undefined : serverUrlOf(endpoint);
  return {
    etcd,
    controlPlaneEndpoint,
    vxlanId: given.vxlanId,
    server: parseServerFlags(
      [
        ...["--data-dir", resolve(data), "--secure-port", port],
        ...(etcd === undefined ? [] : etcdServerFlags(resolve(data), etcd)),
        ...(controlPlaneEndpoint === undefined ? [] : ["--tls-san", hostOf(controlPlaneEndpoint)]),
      ],
      rest!,
      [...parser.options, ...managerParser.options].map(({ long }) => long ?? ""),
    ),
    controllers: { given: givenFlags(managerParser), all: managerParser.opts() },
    node: given.node,
    networkPolicy: given.networkPolicy,
    metrics: given.metrics,
    dashboard: given.dashboard,
    dashboardPort: portOf("--dashboard-port", given.dashboardPort),
    simulate: given.simulate ?? 0,
    simulateConfig: given.simulateConfig,
    machineNode: given.node && nodes === 0,
    nodes,
    podNetwork: podNetworkOf(given.podNetwork),
    proxyMode: given.proxyMode === undefined ? undefined : modeOf(given.proxyMode),
    install: given.install,
    manifests: given.manifests === undefined ? undefined : resolve(given.manifests),
    encryptSecrets,
    kubeconfig: given.kubeconfig,
    localStorage: localStorage ?? given.node,
    loadBalancer: given.loadBalancer,
    ingress: given.ingress,
    ingressDataPlane: dataPlaneOf("--ingress-data-plane", given.ingressDataPlane),
    loadBalancerRanges: rangesOf(given.loadBalancerRange),
    foreground: given.foreground === true,
    ephemeral: given.ephemeral === true,
    installService: given.installService === true,
  };
}

/** As they were parsed. */
interface GivenUpFlags {
  readonly etcd?: string;
  readonly etcdClientPort: number;
  readonly etcdPeerPort: number;
  readonly etcdArg: readonly string[];
  readonly controlPlaneEndpoint?: string;
  readonly vxlanId?: number;
  readonly simulate?: number;
  readonly simulateConfig?: string;
  readonly encryptSecrets?: boolean;
  readonly node: boolean;
  readonly networkPolicy: boolean;
  readonly metrics: boolean;
  readonly dashboard: boolean;
  readonly dashboardPort: string;
  readonly nodes: string;
  readonly podNetwork: string;
  readonly proxyMode?: string;
  readonly install: boolean;
  readonly data: string;
  readonly port: string;
  readonly manifests?: string;
  readonly localStorage?: boolean;
  readonly loadBalancer: boolean;
  readonly ingress: boolean;
  readonly ingressDataPlane: string;
  readonly loadBalancerRange: string;
  readonly kubeconfig: boolean;
  readonly foreground?: boolean;
  readonly ephemeral?: boolean;
  readonly installService?: boolean;
}

/** All flags that the command takes: its own, the API server's, the controller manager's. */
export function upOptions(): readonly Option[] {
  return [upParser(), flagParser(), controllerFlagParser()].flatMap(({ options }) => options);
}

const EXAMPLES = `
Examples:
  k8ts up                              a cluster with a node, in the background
  k8ts up --data ./shop --port 7443    another one beside it
  k8ts up --nodes 3                    three nodes, each with a network of its own
  k8ts up --no-node --ephemeral        for a test: only the control plane, gone at the end
  k8ts up --no-node --simulate 500     500 nodes that run pods without containers
  k8ts up --config cluster.yaml        flags from a file`;

function upParser(): Parser {
  return addVersionFlag(new Parser("k8ts up"))
    .allowUnknownOption()
    .allowExcessArguments()
    .description(
      "Runs a cluster in one process. Takes the flags of `k8ts apiserver`, and those of `k8ts controller-manager` about controllers, too.",
    )
    .option("--node", "run a node on this machine", true)
    .option("--no-node", "run no node")
    .option("--network-policy", "enforce NetworkPolicies on the node", true)
    .option("--no-network-policy", "do not enforce NetworkPolicies (for an add-on that does)")
    .option("--metrics", "serve metrics.k8s.io: kubectl top, autoscaling by CPU and memory", true)
    .option("--no-metrics", "do not serve metrics.k8s.io (for an add-on that does)")
    .option("--dashboard", "serve the web dashboard, with login by token", true)
    .option("--no-dashboard", "serve no dashboard")
    .option(
      "--dashboard-port <port>",
      "of the dashboard; 0: the same as at the last start if it is free",
      "0",
    )
    .option("--simulate <count>", "simulated nodes, beside the real one or alone", nodeCount)
    .option("--simulate-config <file>", "what simulated nodes look like and what their pods do")
    .option(
      "--nodes <n>",
      "run that many nodes as network namespaces of this machine; 0: the machine itself is the node",
      "0",
    )
    .option(
      "--pod-network <mode>",
      "how pods reach those of other nodes: host-gw (routes), vxlan, or none for an add-on of your own",
      "host-gw",
    )
    .option(
      "--proxy-mode <mode>",
      `of the service proxy: ${PROXY_MODES.join(", ")}; nftables where the kernel has it`,
    )
    .option("--data <dir>", "where everything is kept", defaultDataDir())
    .option("--port <port>", "HTTPS port", "6443")
    .option(
      "--manifests <dir>",
      "apply the objects in its files, now and when they change; what goes from them is removed",
    )
    .option("--local-storage", "directories of nodes as the default StorageClass; on with nodes")
    .option(
      "--load-balancer",
      "give Services of type LoadBalancer an address of this machine",
      true,
    )
    .option("--no-load-balancer", "leave Services of type LoadBalancer to others, such as MetalLB")
    .option(
      "--load-balancer-range <cidrs>",
      "the addresses of load balancers, at most one range of each IP family",
      LOCAL_RANGES.join(","),
    )
    .option("--ingress", "serve Ingresses of the class k8ts, the default class", true)
    .option("--no-ingress", "leave Ingresses to a controller of your own")
    .option(
      "--ingress-data-plane <name>",
      "what carries their requests: built-in, or nginx (of Debian) for heavy traffic",
      "built-in",
    )
    .option(
      "--encrypt-secrets [bool]",
      "encrypt Secrets in the store with a key that is kept in the data directory",
      flag,
    )
    .option("--etcd <mode>", "managed: start and supervise an etcd member on this machine")
    .option("--etcd-client-port <port>", "of the managed member, for API servers", integer, 2379)
    .option("--etcd-peer-port <port>", "of the managed member, for other members", integer, 2380)
    .option("--etcd-arg <name=value>", "another flag of the managed etcd", each, [])
    .option(
      "--control-plane-endpoint <host:port>",
      "the load balancer or DNS name in front of all API servers, for machines that join",
    )
    .option("--vxlan-id <number>", "of the pod network, the same on all machines", integer)
    .option("--foreground", "stay in the foreground instead of ending when the cluster is ready")
    .option(
      "--ephemeral",
      "a cluster for this run: prints its kubeconfig's path, leaves nothing behind",
    )
    .option(
      "--config <file>",
      "flags in a YAML file; config.yaml in the data directory remembers them",
    )
    .option("--kubeconfig", "add a context to the user's kubeconfig", true)
    .option("--no-kubeconfig", "leave the user's kubeconfig alone")
    .option("--install-service", "write a systemd unit that starts the cluster, and end")
    .option("--install", "install missing packages", true)
    .option("--no-install", "install no packages")
    .addHelpText("after", EXAMPLES);
}

function managedEtcdOf(
  { etcd, etcdClientPort, etcdPeerPort, etcdArg }: Omit<GivenUpFlags, "data" | "port">,
  serverArgs: readonly string[],
): ManagedEtcdFlags | undefined {
  if (etcd === undefined) return undefined;
  if (etcd !== "managed") throw new FlagError(`--etcd: ${etcd} is not managed`);
  if (serverArgs.some((arg) => arg.split("=", 1)[0] === "--etcd-servers")) {
    throw new FlagError("--etcd managed cannot be used with --etcd-servers");
  }
  const wrong = etcdArg.find((arg) => !/^(--)?[a-z][a-z-]*=/.test(arg));
  if (wrong !== undefined) throw new FlagError(`--etcd-arg: ${wrong} is not name=value`);
  return { clientPort: etcdClientPort, peerPort: etcdPeerPort, extra: etcdArg };
}

/** As certificates name it. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
}

/** The member of this machine; the others are known once it runs. */
function etcdServerFlags(dataDir: string, { clientPort }: ManagedEtcdFlags): string[] {
  const { ca, cert, key } = etcdClientFiles(join(dataDir, "pki"));
  return [
    ...["--etcd-servers", urlOf("127.0.0.1", clientPort), "--etcd-cafile", ca],
    ...["--etcd-certfile", cert, "--etcd-keyfile", key],
  ];
}

function rangesOf(text: string): readonly string[] {
  const ranges = text.split(",").filter((range) => range !== "");
  const wrong = ranges.find((range) => parseCidr(range) === undefined);
  if (wrong !== undefined) throw new FlagError(`--load-balancer-range: ${wrong} is not a CIDR`);
  return ranges;
}

function portOf(name: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= PORT_MAX) return port;
  throw new FlagError(`${name}: ${text} is no port`);
}

function nodeCountOf(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= NODES_MAX) return count;
  throw new FlagError(`--nodes: ${text} is not a number from 0 to ${NODES_MAX}`);
}

function podNetworkOf(text: string): PodNetworkMode {
  const mode = podNetworkModeOf(text);
  if (mode !== undefined) return mode;
  throw new FlagError(`--pod-network: ${text} is none of ${POD_NETWORK_MODES.join(", ")}`);
}

function modeOf(text: string): ProxyMode {
  const mode = proxyModeOf(text);
  if (mode !== undefined) return mode;
  throw new FlagError(`--proxy-mode: ${text} is none of ${PROXY_MODES.join(", ")}`);
}

/** Names of this command's flags, by what the API server calls them. */
const TYPED: Readonly<Record<string, string>> = {
  "--data-dir": "--data",
  "--secure-port": "--port",
};

/** Errors name the flags as they were given on the command line. */
function parseServerFlags(
  own: readonly string[],
  rest: readonly string[],
  ownNames: readonly string[],
): ApiServerFlags {
  try {
    return parseFlags([...OWN_FLAGS, ...own, ...rest]);
  } catch (error) {
    if (!(error instanceof FlagError)) throw error;
    const renamed = Object.entries(TYPED).filter(
      ([name]) => !rest.some((arg) => arg.split("=", 1)[0] === name),
    );
    const message = renamed.reduce(
      (text, [name, typed]) => text.replaceAll(name, typed),
      error.message,
    );
    throw new FlagError(withSuggestion(message, ownNames));
  }
}

/** The API server's parser suggests its own flags only. */
function withSuggestion(message: string, names: readonly string[]): string {
  const unknown = /^unknown flag: (--\S+)$/.exec(message)?.[1];
  const meant = unknown === undefined ? undefined : closestWord(unknown, names);
  return meant === undefined ? message : `${message} (did you mean ${meant}?)`;
}

function controllerFlagParser(): Parser {
  return addPaceFlags(addWorkerFlags(addControllerFlags(new Parser("k8ts up"))));
}

function givenFlags(parser: Parser): Flags {
  const given = Object.entries(parser.opts()).filter(
    ([name]) => parser.getOptionValueSource(name) === "cli",
  );
  return Object.fromEntries(given);
}
