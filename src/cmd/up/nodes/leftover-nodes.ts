/** What the nodes of a cluster left on the machine when its process was killed; found by the cluster's marks. */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { IP_FAMILIES } from "#api/meta/ip-family.ts";
import { killProcesses, listProcesses, type ProcessEntry } from "#host/processes.ts";
import { removeLeftoverPods } from "#kubelet/containerd/leftovers.ts";
import { knownNodes, nodePaths } from "#kubelet/containerd/node-paths.ts";
import { removeBalancedAddresses } from "#network/balanced-addresses.ts";
import { deleteLink, linkExists, markedRoutes } from "#network/ip-command.ts";
import { networkMarks } from "#network/network-marks.ts";
import { removePodNetwork } from "#network/pod-network.ts";
import { PolicyWriter } from "#network/policy/nft/policy-writer.ts";
import { removeRules } from "#proxy/detect-mode.ts";
import { PROXY_MODES } from "#proxy/proxy-mode.ts";
import type { ProcessSurroundings } from "../../component/process-surroundings.ts";
import { removeOfflineLink } from "../offline-link.ts";
import { controlSocket } from "./control-socket.ts";
import { removeHostNetwork } from "./host-network.ts";
import { readNodeList } from "./node-list.ts";

const KILL_TIMEOUT_MS = 10_000;

export async function hasLeftoverNodes(dataDir: string): Promise<boolean> {
  const nodes = await knownNodes(dataDir);
  if (nodes.length === 0) return false;
  if (nodes.some((node) => existsSync(nodePaths(dataDir, node).containerdState))) return true;
  const { nodeBridge, routeMetric, balancerMetric } = networkMarks(dataDir);
  if (await linkExists(nodeBridge)) return true;
  const metrics = [routeMetric, balancerMetric];
  return (await Promise.all(metrics.map(markedRoutes))).some((routes) => routes.length > 0);
}

export async function removeLeftoverNodes(
  dataDir: string,
  surroundings: ProcessSurroundings,
  signal: AbortSignal,
): Promise<void> {
  const nodes = await knownNodes(dataDir);
  if (nodes.length === 0) return;
  await killProcesses(await namespacesOf(dataDir), KILL_TIMEOUT_MS, surroundings.clock, signal);
  const listed = (await readNodeList(dataDir))?.nodes ?? [];
  const namespaces = new Set(listed.map(({ name }) => name));
  for (const node of nodes) {
    const paths = nodePaths(dataDir, node);
    if (!existsSync(paths.containerdState)) continue;
    await removeLeftoverPods(paths, surroundings, signal);
    if (namespaces.has(node)) continue; // its packet rules went with it
    await removeRules(PROXY_MODES, IP_FAMILIES, surroundings.clock);
    await new PolicyWriter().remove().catch(() => undefined); // without nft there are none
  }
  const marks = networkMarks(dataDir);
  for (const node of nodes) await deleteLink(marks.cableTo(node));
  await removePodNetwork(marks);
  await removeBalancedAddresses(marks);
  await removeHostNetwork(marks);
  await removeOfflineLink(marks);
  await rm(controlSocket(dataDir), { force: true });
}

/** The first processes of nodes: with them the kernel ends all others. */
async function namespacesOf(dataDir: string): Promise<readonly ProcessEntry[]> {
  const folder = `${join(dataDir, "nodes")}/`;
  return (await listProcesses()).filter(
    ({ words }) =>
      words.includes("node") &&
      words.includes("run") &&
      words.some((word) => word.startsWith(folder) && word.endsWith("/agent.json")),
  );
}
