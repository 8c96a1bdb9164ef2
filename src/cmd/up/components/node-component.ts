/**
 * The machine's own node as a component of `k8ts up`: a containerd of its own, the kubelet and its
 * server, the pod network, all below the data directory. When it ends, its pods end with it; at the next
 * start the kubelet makes them again.
 */
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { nodePaths } from "#kubelet/containerd/node-paths.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { type NetworkMarks, networkMarks } from "#network/network-marks.ts";
import { dnsAddress } from "../../dns/kube-dns.ts";
import { runMachineNode } from "../../node/run-machine-node.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { nodeCredentials } from "../nodes/node-credentials.ts";
import { podRangesOf } from "../pod-ranges.ts";
import { PROXY_USER } from "./proxy-component.ts";

export const runNode: RunComponent = (cluster, signal) =>
  readyAndDone((onReady) => run(cluster, onReady, signal));

async function run(
  cluster: ClusterContext,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, hostname, metrics, flags } = cluster;
  const { dataDir, serviceClusterIpRange } = flags.server;
  const name = hostname.toLowerCase();
  const user = { name: `system:node:${name}`, groups: ["system:nodes", "system:authenticated"] };
  const clientOf = (transport: Transport, fieldManager: string): Client =>
    new Client({ transport, clock, random, fieldManager });
  const { serving, clientCa } = nodeCredentials(dataDir, name, [], clock.nowMs());
  await runMachineNode(
    {
      ...{ name, paths: nodePaths(dataDir, name) },
      clusterDns: serviceClusterIpRange.slice(0, 1).map(dnsAddress),
      serving: {
        ...{ address: "0.0.0.0", tls: serving, clientCa },
        ...{ anonymous: false, authorization: "Webhook" },
      },
      podNetwork: {
        ...{ mode: flags.podNetwork, ranges: podRangesOf(serviceClusterIpRange, flags.simulate) },
        marks: withVni(networkMarks(dataDir), flags.vxlanId),
        client: clientOf(cluster.transportAs(PROXY_USER, "k8ts-pod-network"), "k8ts-pod-network"),
      },
      client: clientOf(cluster.transportAs(user, "kubelet"), "kubelet"),
      ...{ clock, random, logger, metrics },
    },
    onReady,
    signal,
  );
}

function withVni(marks: NetworkMarks, vni: number | undefined): NetworkMarks {
  return vni === undefined ? marks : { ...marks, vni };
}
