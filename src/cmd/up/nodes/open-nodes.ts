/** The nodes of a cluster before it starts: the list, and the machine's part of their network. */
import { networkMarks } from "#network/network-marks.ts";
import { podRangesOf } from "../pod-ranges.ts";
import type { UpFlags } from "../up-flags.ts";
import { ensureHostNetwork } from "./host-network.ts";
import {
  type NodeList,
  newNodeList,
  readNodeList,
  subnetsOf,
  withRequested,
  writeNodeList,
} from "./node-list.ts";

export async function openNodes({ nodes, server, simulate }: UpFlags): Promise<NodeList> {
  const { dataDir, serviceClusterIpRange } = server;
  const marks = networkMarks(dataDir);
  const known = await readNodeList(dataDir);
  const list = withRequested(known ?? newNodeList(marks.vni), nodes);
  if (list !== known) await writeNodeList(dataDir, list);
  if (list.nodes.length > 0) {
    // Before the API server: on a machine without a network this is where nodes find it.
    const podRanges = podRangesOf(serviceClusterIpRange, simulate);
    await ensureHostNetwork({ marks, subnets: subnetsOf(list, podRanges), podRanges });
  }
  return list;
}
