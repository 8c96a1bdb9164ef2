/**
 * The machine's own node as a component of `k8ts up`: a containerd of its own, the kubelet and its
 * server, all below the data directory. When it ends, its pods end with it; at the next start the
 * kubelet makes them again.
 */
import { join } from "node:path";
import { Client } from "#client/client.ts";
import { openCgroups } from "#host/cgroups.ts";
import { removeTree } from "#host/files.ts";
import { endLeftContainerd } from "#kubelet/containerd/left-behind.ts";
import { nodePaths } from "#kubelet/containerd/node-paths.ts";
import { startOwnContainerd } from "#kubelet/containerd/own-containerd.ts";
import { stopSandboxes } from "#kubelet/containerd/stop-sandboxes.ts";
import { createCriClient } from "#kubelet/cri/cri-client.ts";
import { DEFAULT_KUBELET_CONFIG, type KubeletConfig } from "#kubelet/kubelet-config.ts";
import { untilAborted } from "#lib/aborted.ts";
import { deferred } from "#lib/deferred.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { dnsAddress } from "../dns/kube-dns.ts";
import { runNode } from "../kubelet/run-node.ts";
import { APISERVER } from "./apiserver-component.ts";
import type { ClusterContext, Component } from "./component.ts";

/** How long pods get to end when the cluster is told to end. */
const STOP_TIMEOUT_MS = 2_000;

export const nodeComponent: Component = {
  name: "node",
  needs: [APISERVER, "controller-manager"],
  run: (cluster, signal) => {
    const ready = deferred<void>();
    const done = run(cluster, ready.resolve, signal);
    done.catch(ready.reject);
    return { ready: ready.promise, done };
  },
};

async function run(
  cluster: ClusterContext,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, hostname, metrics, flags } = cluster;
  const name = hostname.toLowerCase();
  const paths = nodePaths(flags.server.dataDir, name);
  // The runtime outlives the kubelet: it has to end the pods.
  const runtimeLife = new AbortController();
  await endLeftContainerd(paths, clock, signal);
  const containerd = await startOwnContainerd(paths, { clock, random, logger }, runtimeLife.signal);
  try {
    const config: KubeletConfig = {
      ...DEFAULT_KUBELET_CONFIG,
      nodeName: name,
      rootDir: paths.kubeletRoot,
      podLogsDir: join(paths.kubeletRoot, "..", "logs"),
      runtimeEndpoint: containerd.endpoint,
      cniConfDir: paths.cniConf,
      cgroupRoot: paths.cgroupRoot,
      clusterDns: flags.server.serviceClusterIpRange.slice(0, 1).map(dnsAddress),
    };
    const user = {
      name: `system:node:${name}`,
      groups: ["system:nodes", "system:authenticated"],
    };
    const transport = cluster.transportAs(user, "kubelet");
    const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
    const serving = servingOf(flags.server.dataDir, name, clock.nowMs());
    const node = runNode({ config, serving, client, clock, random, logger, metrics }, signal);
    await node.ready;
    onReady();
    await Promise.race([untilAborted(signal), node.done]);
    await node.done;
  } finally {
    using cri = createCriClient({ endpoint: containerd.endpoint });
    await stopSandboxes(cri, STOP_TIMEOUT_MS).catch((error: unknown) =>
      logger.warn("pods could not be ended", { error }),
    );
    runtimeLife.abort();
    await containerd.ended;
    const cgroups = await openCgroups(clock);
    await cgroups.remove(paths.cgroupRoot);
    await removeTree(paths.containerdState); // sockets; nothing runs any more
  }
}

/** The cluster's own authority vouches for the node's server and for those who call it. */
function servingOf(dataDir: string, name: string, nowMs: number) {
  const authority = openAuthority(join(dataDir, "pki", "ca"), "kubernetes", nowMs);
  const subject = { commonName: `system:node:${name}`, organizations: ["system:nodes"] };
  const altNames = [name, "localhost", "127.0.0.1"];
  const pair = issueLeaf(authority, { subject, purpose: "server auth", altNames }, nowMs);
  return {
    address: "0.0.0.0",
    tls: { cert: pair.certificatePem, key: pair.keyPem },
    clientCa: authority.certificatePem,
    anonymous: false,
    authorization: "Webhook",
  } as const;
}
