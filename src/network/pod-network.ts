/**
 * The pod network of a node: routes to the pods of other nodes, made from the Node objects.
 *
 * Promises:
 * 1. `ready` resolves when the routes to all nodes that are known then are in the kernel.
 * 2. A node that comes, goes or changes its addresses is followed at once; a change that fails is tried
 *    again with growing delays.
 * 3. Packets between pods keep their addresses; only those to the outside get the node's.
 * 4. Packets for the ranges of the cluster that no route takes end on the node.
 * 5. When the signal aborts everything that was made is removed. Other routes are never touched: those of
 *    this cluster are known by their metric.
 */

import type { Node } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import { nodeResource } from "#client/node-resources.ts";
import { setSysctl } from "#host/sysctl.ts";
import { onAbort, untilAborted } from "#lib/async/aborted.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { deferred } from "#lib/async/deferred.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  decidePodRoutes,
  isIpv6,
  type Peer,
  type PodRoute,
  peerOf,
  type TunnelRoute,
} from "./decide-pod-routes.ts";
import {
  deleteLink,
  deleteRoute,
  deviceWith,
  type KernelRoute,
  linkTo,
  markedRoutes,
  replaceRoute,
} from "./ip-command.ts";
import { removeMasquerade, writeMasquerade } from "./masquerade.ts";
import type { NetworkMarks } from "./network-marks.ts";
import { type PodNetworkMode, vxlanMtu } from "./pod-network-mode.ts";
import { tunnelMac } from "./tunnel-mac.ts";
import { ensureVxlan, forgetTunnelEnds, setTunnelEnd } from "./vxlan-tunnel.ts";

/** The pods of simulated nodes have addresses, but nothing answers there. */
const REAL_NODES = "!sim.k8ts.io/simulated";

export interface PodNetworkOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly marks: NetworkMarks;
  readonly mode: PodNetworkMode;
  /** The node that this is. Undefined on a machine that only needs the way to pods. */
  readonly nodeName: string | undefined;
  /** Of all pods of the cluster. */
  readonly podRanges: readonly string[];
  /** Further ranges that never leave the machine; where the service proxy runs it does that. */
  readonly otherRanges?: readonly string[];
}

export interface RunningPodNetwork {
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
}

export function runPodNetwork(options: PodNetworkOptions, signal: AbortSignal): RunningPodNetwork {
  return readyAndDone((onReady) => run(options, onReady, signal));
}

/** Removes what a pod network with these marks left in this network namespace. */
export async function removePodNetwork(marks: NetworkMarks): Promise<void> {
  for (const route of await markedRoutes(marks.routeMetric)) {
    await deleteRoute(route, marks.routeMetric);
  }
  await deleteLink(marks.vxlanDevice);
  await deleteLink(marks.podBridge);
  await removeMasquerade(marks.chain);
}

async function run(
  options: PodNetworkOptions,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random, logger, marks, mode } = options;
  if (mode === "none") {
    onReady();
    return untilAborted(signal);
  }
  await enableForwarding(options.podRanges.some(isIpv6));
  const around = { client, clock, random, logger };
  const nodes = new Informer<Node>({ ...around, kind: nodeResource, labelSelector: REAL_NODES });
  const backoff = new Backoff({ baseMs: 200, capMs: 30_000, jitter: 0.2, random });
  let changed = deferred<void>();
  let seen = "";
  nodes.on(() => {
    const now = JSON.stringify([...nodes.cache.list()].map(peerOf));
    if (now === seen) return; // heartbeats
    seen = now;
    changed.resolve();
  }, signal);
  onAbort(signal, () => changed.resolve());
  const watching = nodes.run(signal);
  await Promise.race([nodes.synced, untilAborted(signal)]);
  while (!signal.aborted) {
    changed = deferred<void>();
    try {
      await apply(
        options,
        [...nodes.cache.list()].map(peerOf).filter((peer) => peer !== undefined),
      );
      backoff.reset();
      onReady();
      await changed.promise;
    } catch (error) {
      logger.warn("routes to pods were not written", { error: messageOf(error) });
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    }
  }
  await watching;
  await removePodNetwork(marks);
}

async function apply(options: PodNetworkOptions, all: readonly Peer[]): Promise<void> {
  const { marks, mode, nodeName, podRanges, otherRanges = [] } = options;
  const own = all.find(({ name }) => name === nodeName);
  if (nodeName !== undefined && own === undefined) return; // it has no range yet
  const peers = all.filter((peer) => peer !== own);
  const onLink = new Set<string>();
  for (const address of peers.flatMap(({ addresses }) => addresses)) {
    if ((await linkTo(address))?.isOnLink === true) onLink.add(address);
  }
  const routes = decidePodRoutes({
    ...{ mode, peers, ownRanges: [...podRanges, ...otherRanges] },
    isOnLink: (address) => onLink.has(address),
  });
  const tunnel = routes.filter((route) => route.type === "tunnel");
  if (own !== undefined) {
    await writeMasquerade({ chain: marks.chain, sources: own.podCidrs, inside: podRanges });
    if (mode === "vxlan" || tunnel.length > 0) await writeTunnel(marks, own, tunnel);
  }
  // A machine without pods has no end of a tunnel; it needs the way to nodes on its own link only.
  const usable = own === undefined ? routes.filter(({ type }) => type !== "tunnel") : routes;
  await writeRoutes(usable, marks);
}

async function writeTunnel(
  { vxlanDevice: device, vni }: NetworkMarks,
  { addresses, podCidrs }: Peer,
  routes: readonly TunnelRoute[],
): Promise<void> {
  const [localAddress = ""] = addresses;
  const link = await deviceWith(localAddress);
  if (link === undefined) throw new Error(`no device has the node's address ${localAddress}`);
  const mtu = vxlanMtu(link.mtu, isIpv6(localAddress));
  await ensureVxlan({ device, vni, localAddress, podCidrs, mtu });
  for (const route of routes) await setTunnelEnd(device, route);
  await forgetTunnelEnds(device, new Set(routes.map(({ firstCidr }) => tunnelMac(firstCidr))));
}

async function writeRoutes(
  routes: readonly PodRoute[],
  { routeMetric, vxlanDevice }: NetworkMarks,
): Promise<void> {
  const present = await markedRoutes(routeMetric);
  const wanted = new Set(routes.map(({ cidr }) => cidr));
  for (const route of present) {
    if (!wanted.has(route.dst)) await deleteRoute(route, routeMetric);
  }
  for (const route of routes) {
    const old = present.find(({ dst }) => dst === route.cidr);
    if (old !== undefined && isSame(old, route, vxlanDevice)) continue;
    if (old !== undefined) await deleteRoute(old, routeMetric);
    await replaceRoute(route.cidr, wordsOf(route, vxlanDevice), routeMetric);
  }
}

function wordsOf(route: PodRoute, vxlanDevice: string): readonly string[] {
  if (route.type === "unreachable") return ["unreachable"];
  if (route.type === "direct") return ["via", route.via];
  return ["via", route.via, "dev", vxlanDevice, "onlink"];
}

function isSame(
  { type, gateway, dev }: KernelRoute,
  route: PodRoute,
  vxlanDevice: string,
): boolean {
  if (route.type === "unreachable") return type === "unreachable";
  if (gateway !== route.via) return false;
  return (dev === vxlanDevice) === (route.type === "tunnel");
}

/** Nodes are routers of their pods. */
async function enableForwarding(withIpv6: boolean): Promise<void> {
  await setSysctl("net/ipv4/ip_forward", "1");
  if (withIpv6) await setSysctl("net/ipv6/conf/all/forwarding", "1");
}
