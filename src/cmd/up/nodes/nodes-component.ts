/**
 * The nodes that are network namespaces as a component of `k8ts up`, and what `k8ts node` asks for. On the
 * machine itself it keeps the routes to their pods, unless the machine is a node and has them anyway.
 */
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { Client } from "#client/client.ts";
import { machineAddresses } from "#host/machine.ts";
import { untilAborted } from "#lib/async/aborted.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { networkMarks } from "#network/network-marks.ts";
import { runPodNetwork } from "#network/pod-network.ts";
import { dnsAddress } from "../../dns/kube-dns.ts";
import { ensureNetworkPolicyAccess } from "../../network-policy/network-policy-access.ts";
import type { ClusterContext, RunComponent } from "../component.ts";
import { PROXY_USER } from "../components/proxy-component.ts";
import { podRangesOf } from "../pod-ranges.ts";
import { controlSocket, serveControl } from "./control-socket.ts";
import { removeHostNetwork } from "./host-network.ts";
import type { NodeList } from "./node-list.ts";
import { NodePool } from "./node-pool.ts";
import { answerNodeRequest } from "./node-requests.ts";

const ADMIN = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const FIELD_MANAGER = "k8ts-nodes";

export function runNodes(list: NodeList): RunComponent {
  return (cluster, signal) => readyAndDone((onReady) => run(cluster, list, onReady, signal));
}

async function run(
  cluster: ClusterContext,
  list: NodeList,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, flags } = cluster;
  const { dataDir, serviceClusterIpRange } = flags.server;
  const { advertiseAddress, port } = cluster.server();
  const podRanges = podRangesOf(serviceClusterIpRange, flags.simulate);
  const marks = networkMarks(dataDir);
  const clientAs = (user: typeof PROXY_USER): Client => {
    const transport = cluster.transportAs(user, FIELD_MANAGER);
    return new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  };
  const admin = clientAs(ADMIN);
  if (flags.networkPolicy) await ensureNetworkPolicyAccess(admin, signal);
  const pool = new NodePool({
    ...{ dataDir, list, podNetwork: flags.podNetwork, podRanges, clock, random, logger },
    ...{ networkPolicy: flags.networkPolicy, proxyMode: flags.proxyMode },
    clusterDns: serviceClusterIpRange.slice(0, 1).map(dnsAddress),
    server: `https://${advertiseAddress}:${port}`,
    machineAddresses: await addressesOnLink(advertiseAddress, list.network),
    deleteNode: async (name) => {
      const deleted = await admin.delete(nodeKind, { name });
      if (!deleted.ok && deleted.status.code !== 404) throw new Error(deleted.status.message);
    },
  });
  const networkLife = new AbortController();
  const mode = flags.podNetwork === "none" ? "none" : "host-gw";
  const routes = { client: clientAs(PROXY_USER), clock, random, logger, marks, mode } as const;
  const network = flags.machineNode
    ? undefined
    : runPodNetwork(
        { ...routes, nodeName: undefined, podRanges, otherRanges: serviceClusterIpRange },
        networkLife.signal,
      );
  try {
    await Promise.all([pool.startAll(), network?.ready]);
    await serveControl(
      controlSocket(dataDir),
      (question) => answerNodeRequest(pool, question),
      signal,
    );
    onReady();
    await untilAborted(signal);
  } finally {
    await pool.endAll();
    networkLife.abort();
    await network?.done;
    await removeHostNetwork(marks);
  }
}

/** Addresses of the machine that nodes must treat as on-link. */
async function addressesOnLink(advertised: string, network: string): Promise<readonly string[]> {
  const [own] = await machineAddresses();
  const all = new Set([advertised, ...(own === undefined ? [] : [own])]);
  return [...all].filter((address) => !address.startsWith(`${network}.`) && !address.includes(":"));
}
