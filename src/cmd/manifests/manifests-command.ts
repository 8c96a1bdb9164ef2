/**
 * `k8ts manifests`: a control plane as static pods. It makes the keys, certificates and kubeconfigs in a
 * data directory, writes the manifests into the folder that a kubelet reads (`--pod-manifest-path`), and,
 * if asked to, the image that they run as an archive.
 */
import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { Command as Parser } from "commander";
import { dump } from "js-yaml";
import { firstAddress } from "#apiserver/cluster/kubernetes-service.ts";
import { ensureEtcdCertificates } from "#etcd/etcd-certificates.ts";
import { interfaceAddresses } from "#host/interface-addresses.ts";
import type { Clock } from "#lib/time/clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { ClusterPki, servingNames } from "#pki/cluster-pki.ts";
import { formatKubeconfig } from "#pki/kubeconfig.ts";
import { localUrl } from "#pki/local-url.ts";
import { writePrivateFile } from "#pki/private-file.ts";
import { makeDataDir } from "../apiserver/data-dir.ts";
import { ownAddress } from "../apiserver/own-address.ts";
import type { Command } from "../command.ts";
import {
  type ProcessSurroundings,
  processSurroundings,
} from "../component/process-surroundings.ts";
import { address, integer, list } from "../flags/flag-values.ts";
import { FlagError, parseArguments, refuseFlags } from "../flags/parse-flags.ts";
import { defaultDataDir } from "../up/default-data-dir.ts";
import { type ControlPlanePlan, controlPlanePods } from "./control-plane-pods.ts";
import { writeOwnImage } from "./own-image.ts";

interface ManifestFlags {
  readonly dir?: string;
  readonly data: string;
  readonly image: string;
  readonly imageArchive?: string;
  readonly advertiseAddress?: string;
  readonly port: number;
  readonly nodeName: string;
  readonly serviceClusterIpRange: string;
  readonly clusterCidr: string;
  readonly etcdServers: readonly string[];
}

export const manifestsCommand: Command = {
  name: "manifests",
  summary: "write a control plane as static pods, and the image that they run",
  flags: () => manifestsParser().options,
  run: async (args, signal) => {
    try {
      const flags = parseArguments(manifestsParser(), args).opts<ManifestFlags>();
      await writeManifests(flags, signal);
      return 0;
    } catch (error) {
      return refuseFlags(error);
    }
  },
};

function manifestsParser(): Parser {
  return new Parser("k8ts manifests")
    .description(
      "Writes manifests of etcd, kube-apiserver, kube-controller-manager and kube-scheduler for a kubelet (--pod-manifest-path), with their keys and kubeconfigs.",
    )
    .option("--dir <dir>", "where the manifests go")
    .option("--data <dir>", "where keys, kubeconfigs and etcd's data are", defaultDataDir())
    .option("--image <name>", "the image that the pods run", "k8ts.local/k8ts:1")
    .option("--image-archive <file>", "also write that image, for `k8ts image import`")
    .option("--advertise-address <ip>", "the machine's address; found out unless given", address)
    .option("--port <port>", "of the API server", integer, 6443)
    .option("--node-name <name>", "the node that runs the pods", hostname())
    .option("--service-cluster-ip-range <cidr>", "of Services", "10.96.0.0/12")
    .option("--cluster-cidr <cidr>", "of pods", "10.244.0.0/16")
    .option("--etcd-servers <urls>", "an etcd that is there already, instead of a pod", list, []);
}

async function writeManifests(flags: ManifestFlags, signal: AbortSignal): Promise<void> {
  if (flags.dir === undefined) throw new FlagError("--dir is needed: where the manifests go");
  const dir = resolve(flags.dir);
  const dataDir = resolve(flags.data);
  const surroundings = processSurroundings({ logLevel: "info", logFormat: "text" });
  const plan: ControlPlanePlan = {
    ...{ dataDir, image: flags.image, port: flags.port, etcdServers: flags.etcdServers },
    nodeName: flags.nodeName.toLowerCase(),
    address: flags.advertiseAddress ?? ownAddress("0.0.0.0"),
    ...{ serviceRange: flags.serviceClusterIpRange, podRange: flags.clusterCidr },
  };
  makeDataDir(dataDir);
  makeKeys(plan, surroundings);
  if (flags.imageArchive !== undefined) {
    const image = {
      ...{ name: flags.image, program: process.argv[1] ?? "" },
      withEtcd: flags.etcdServers.length === 0,
    };
    await writeOwnImage(image, resolve(flags.imageArchive), join(dataDir, "work"), signal);
    process.stdout.write(`${resolve(flags.imageArchive)}\n`);
  }
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  for (const [name, pod] of controlPlanePods(plan)) {
    writePrivateFile(join(dir, name), dump(pod, { lineWidth: -1 }));
    process.stdout.write(`${join(dir, name)}\n`);
  }
}

function makeKeys(plan: ControlPlanePlan, { clock, logger }: ProcessSurroundings): void {
  const { dataDir, nodeName, address: own, port, serviceRange } = plan;
  const serverUrl = localUrl("127.0.0.1", port);
  const addresses = [own, firstAddress(serviceRange)];
  ClusterPki.open({
    ...{ directory: dataDir, serverUrl, clock, logger },
    servingNames: servingNames("cluster.local", hostname(), addresses),
  });
  if (plan.etcdServers.length === 0) {
    const names = [nodeName, own, ...interfaceAddresses()];
    ensureEtcdCertificates({ directory: join(dataDir, "pki"), names, clock, logger });
    mkdirSync(join(dataDir, "etcd"), { recursive: true, mode: 0o700 });
  }
  writeNodeKubeconfig(dataDir, nodeName, serverUrl, clock);
}

/** For the kubelet that runs the pods. */
function writeNodeKubeconfig(dataDir: string, node: string, server: string, clock: Clock): void {
  const nowMs = clock.nowMs();
  const authority = openAuthority(join(dataDir, "pki", "ca"), "kubernetes", nowMs);
  const user = `system:node:${node}`;
  const subject = { commonName: user, organizations: ["system:nodes"] };
  const client = issueLeaf(authority, { subject, purpose: "client auth" }, nowMs);
  const content = { server, authorityPem: authority.certificatePem, user, client };
  writePrivateFile(join(dataDir, "kubelet.kubeconfig"), formatKubeconfig(content));
}
