/** Which nodes a cluster has as network namespaces: `nodes.json` in the data directory. Decisions are pure. */
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { isIpv6 } from "#network/decide-pod-routes.ts";

export interface ListedNode {
  readonly name: string;
  readonly address: string;
  /** By `k8ts node stop`; it stays so at the next start of the cluster. */
  readonly isStopped: boolean;
}

export interface NodeList {
  /** The first three numbers of the network that connects the nodes: `10.201.7`. */
  readonly network: string;
  /** The last `--nodes` that was acted on. */
  readonly requested: number;
  readonly nodes: readonly ListedNode[];
}

export const NODES_MAX = 100;
/** Apart from the default ranges of pods (10.244) and Services (10.96–10.111). */
const NETWORKS = "10.201";
const FIRST_HOST = 2;

/** One network of the link between the nodes. */
export interface NodeSubnet {
  readonly cidr: string;
  /** The machine's own address on the nodes' bridge. */
  readonly gateway: string;
}

/** IPv4, and IPv6 too if pods have such addresses. */
export function subnetsOf({ network }: NodeList, podRanges: readonly string[]): NodeSubnet[] {
  const ipv4 = { cidr: `${network}.0/24`, gateway: `${network}.1` };
  if (!podRanges.some(isIpv6)) return [ipv4];
  const prefix = ipv6Prefix(network);
  return [ipv4, { cidr: `${prefix}/64`, gateway: `${prefix}1` }];
}

/** The addresses of a node in the subnets, in their order. */
export function nodeAddresses(
  { network }: NodeList,
  { address }: ListedNode,
  podRanges: readonly string[],
): string[] {
  if (!podRanges.some(isIpv6)) return [address];
  const host = Number(address.slice(address.lastIndexOf(".") + 1));
  return [address, `${ipv6Prefix(network)}${host.toString(16)}`];
}

/** `fd00:10:201:7::` for `10.201.7`. */
function ipv6Prefix(network: string): string {
  const third = Number(network.slice(network.lastIndexOf(".") + 1));
  return `fd00:10:201:${third.toString(16)}::`;
}

export async function readNodeList(dataDir: string): Promise<NodeList | undefined> {
  const text = await readTextIfPresent(fileIn(dataDir));
  return text === undefined ? undefined : (JSON.parse(text) as NodeList);
}

export async function writeNodeList(dataDir: string, list: NodeList): Promise<void> {
  await writeFileWhole(fileIn(dataDir), `${JSON.stringify(list, undefined, 2)}\n`, { mode: 0o600 });
}

/** An empty list on a network that no interface of the machine has. `seed` differs between clusters. */
export function newNodeList(seed: number, used = usedAddresses()): NodeList {
  for (let offset = 0; offset < 256; offset++) {
    const network = `${NETWORKS}.${(seed + offset) % 256}`;
    if (!used.some((address) => address.startsWith(`${network}.`))) {
      return { network, requested: 0, nodes: [] };
    }
  }
  throw new Error(`every network of ${NETWORKS}.0.0/16 is in use on this machine`);
}

/** The list after `--nodes N`: nodes are added or, from the end, removed only when N has changed. */
export function withRequested(list: NodeList, requested: number): NodeList {
  if (requested === list.requested) return list;
  let next: NodeList = { ...list, nodes: list.nodes.slice(0, requested) };
  while (next.nodes.length < requested) next = withNode(next, freeName(next));
  return { ...next, requested };
}

export function withNode(list: NodeList, name: string): NodeList {
  const taken = new Set(list.nodes.map(({ address }) => address));
  for (let host = FIRST_HOST; host < FIRST_HOST + NODES_MAX; host++) {
    const address = `${list.network}.${host}`;
    if (taken.has(address)) continue;
    return { ...list, nodes: [...list.nodes, { name, address, isStopped: false }] };
  }
  throw new Error(`a machine has at most ${NODES_MAX} nodes`);
}

/** `node-1`, `node-2`, … */
export function freeName({ nodes }: NodeList): string {
  for (let number = 1; ; number++) {
    const name = `node-${number}`;
    if (!nodes.some((node) => node.name === name)) return name;
  }
}

function usedAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((one) => one.address));
}

function fileIn(dataDir: string): string {
  return join(dataDir, "nodes.json");
}
