/** The machine's part of the network of its nodes: a bridge with an address, and the way to the outside. */
import { mustRun, runProgram } from "#host/run-program.ts";
import { setSysctl } from "#host/sysctl.ts";
import { isIpv6 } from "#network/decide-pod-routes.ts";
import { deleteLink, linkExists } from "#network/ip-command.ts";
import { removeMasquerade, writeMasquerade } from "#network/masquerade.ts";
import type { NetworkMarks } from "#network/network-marks.ts";
import type { NodeSubnet } from "./node-list.ts";

export interface HostNetwork {
  readonly marks: NetworkMarks;
  readonly subnets: readonly NodeSubnet[];
  readonly podRanges: readonly string[];
}

export async function ensureHostNetwork(network: HostNetwork): Promise<void> {
  const { marks, subnets, podRanges } = network;
  if (!(await linkExists(marks.nodeBridge))) {
    await mustRun("ip", ["link", "add", "name", marks.nodeBridge, "type", "bridge"]);
  }
  for (const { cidr, gateway } of subnets) {
    const address = `${gateway}${cidr.slice(cidr.indexOf("/"))}`;
    // The addresses are ours: nothing has to be asked before they are used.
    const options = isIpv6(cidr) ? ["nodad"] : [];
    await mustRun("ip", ["addr", "replace", address, "dev", marks.nodeBridge, ...options]);
  }
  await mustRun("ip", ["link", "set", marks.nodeBridge, "up"]);
  const sources = subnets.map(({ cidr }) => cidr);
  await setSysctl("net/ipv4/ip_forward", "1");
  if (sources.some(isIpv6)) await setSysctl("net/ipv6/conf/all/forwarding", "1");
  const chain = chainOf(marks);
  await writeMasquerade({ chain, sources, inside: [...sources, ...podRanges] });
}

export async function removeHostNetwork(marks: NetworkMarks): Promise<void> {
  await deleteLink(marks.nodeBridge);
  await removeMasquerade(chainOf(marks));
}

/** Lays the cable from the bridge to a node, whose end is `eth0` in the namespace of the process. */
export async function connectNode(marks: NetworkMarks, node: string, pid: number): Promise<void> {
  const cable = marks.cableTo(node);
  await deleteLink(cable); // of a namespace that has just ended
  const peer = ["peer", "name", "eth0", "netns", String(pid)];
  await mustRun("ip", ["link", "add", cable, "type", "veth", ...peer]);
  await mustRun("ip", ["link", "set", cable, "master", marks.nodeBridge, "up"]);
}

/** Cuts a node off from everything, or ends that. */
export async function setPartition(
  marks: NetworkMarks,
  node: string,
  isCut: boolean,
): Promise<void> {
  await mustRun("ip", ["link", "set", marks.cableTo(node), isCut ? "down" : "up"]);
}

export interface Slowness {
  /** As `tc` writes it: `100ms`. */
  readonly delay?: string;
  /** `1%` */
  readonly loss?: string;
  /** `10mbit` */
  readonly rate?: string;
}

/** What is sent to a node waits, is lost or is paced; nothing given ends that. Throws if the kernel cannot. */
export async function setSlowness(
  marks: NetworkMarks,
  node: string,
  { delay, loss, rate }: Slowness,
): Promise<void> {
  const device = ["dev", marks.cableTo(node), "root"];
  await runProgram("tc", ["qdisc", "del", ...device]);
  const words = [
    ...(delay === undefined ? [] : ["delay", delay]),
    ...(loss === undefined ? [] : ["loss", loss]),
  ];
  if (words.length > 0) {
    const paced = rate === undefined ? [] : ["rate", rate];
    await mustRun("tc", ["qdisc", "add", ...device, "netem", ...words, ...paced]);
  } else if (rate !== undefined) {
    const bucket = ["burst", "32kbit", "latency", "400ms"];
    await mustRun("tc", ["qdisc", "add", ...device, "tbf", "rate", rate, ...bucket]);
  }
}

function chainOf({ chain }: NetworkMarks): string {
  return `${chain}-NODES`;
}
