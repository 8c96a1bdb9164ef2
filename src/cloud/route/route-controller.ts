/**
 * The route controller: one route for each pod range of each node, and none that is stale. A node's
 * condition NetworkUnavailable says whether its routes are there. It looks when a node comes, goes or
 * changes its ranges or addresses, and once a period.
 */
import type { Node, NodeCondition, ObjectReference } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { formatDuration } from "#api/meta/duration.ts";
import { timeFromMs } from "#api/meta/time.ts";
import {
  type Caches,
  type Change,
  type Controller,
  defineController,
  type EventNote,
  type Key,
  type Measure,
  type Outcome,
} from "#runtime/controller.ts";
import { patch, type Write } from "#runtime/writes.ts";
import { cloudCall } from "../cloud-call.ts";
import type { Routes } from "../provider.ts";
import { type PlannedRoute, planRoutes } from "./plan-routes.ts";

/** All routes are looked at together. */
const KEY: Key = { name: "routes" };
const CALLS_AT_ONCE_MAX = 200;

export interface RouteControllerOptions {
  readonly routes: Routes;
  readonly clusterName: string;
  readonly clusterCidrs: readonly string[];
  readonly periodMs: number;
}

export interface RouteState {
  readonly nodes: readonly Node[];
  /** Names of nodes that routes led to. */
  readonly targets: ReadonlySet<string>;
  readonly failed: readonly FailedRoute[];
}

export interface FailedRoute extends PlannedRoute {
  readonly message: string;
  readonly tookMs: number;
}

export function routeController(options: RouteControllerOptions): Controller<RouteState> {
  const { routes, clusterName, clusterCidrs, periodMs } = options;
  return defineController<RouteState>({
    name: "node-route-controller",
    rule: "each node has the routes to its pod ranges",
    component: "route_controller",
    feeds: [{ kind: nodeKind, keys: () => [KEY], keysOfChange }],
    workers: 1,
    observe: async (caches: Caches, _key, _reader, _memory, { signal, elapsedMs }) => {
      const nodes = [...caches(nodeKind).list()];
      const listed = await routes.list(clusterName, signal);
      const plan = planRoutes(nodes, listed, clusterCidrs);
      // Removed first: one that changes is removed and made again.
      await inParallel(plan.remove, (route) =>
        cloudCall(() => routes.remove(clusterName, route, signal), signal),
      );
      const failed: FailedRoute[] = [];
      await inParallel(plan.create, async (planned) => {
        const hint = planned.node.metadata.uid ?? "";
        const create = () => routes.create(clusterName, hint, planned.route, signal);
        const startMs = elapsedMs();
        const made = await cloudCall(create, signal);
        if (made.ok || made.elsewhere) return;
        failed.push({ ...planned, message: made.message, tookMs: elapsedMs() - startMs });
      });
      return { nodes, targets: new Set(listed.map(({ targetNode }) => targetNode)), failed };
    },
    decide: (state, nowMs) => decideRoutes(state, periodMs, nowMs),
    measure,
  });
}

function decideRoutes(state: RouteState, periodMs: number, nowMs: number): Outcome {
  const { nodes, targets, failed } = state;
  const without = new Set(failed.map(({ node }) => node.metadata.name));
  const hasRanges = ({ spec }: Node): boolean => (spec.podCIDRs ?? []).length > 0;
  // Of a node without ranges nothing is said, unless it had routes.
  const writes = nodes
    .filter((node) => hasRanges(node) || targets.has(node.metadata.name ?? ""))
    .flatMap((node) => {
      const hasRoutes = hasRanges(node) && !without.has(node.metadata.name);
      return conditionWrites(node, hasRoutes, nowMs);
    });
  return { writes: [writes], events: failed.map(eventOf), recheckInMs: periodMs };
}

function keysOfChange({ old, next }: Change<Node>): readonly Key[] {
  const facts = (node: Node | undefined): string =>
    node === undefined ? "" : JSON.stringify([node.spec.podCIDRs, node.status?.addresses]);
  return old === undefined || next === undefined || facts(old) !== facts(next) ? [KEY] : [];
}

function conditionWrites(node: Node, hasRoutes: boolean, nowMs: number): readonly Write[] {
  const wanted = hasRoutes
    ? {
        status: "False" as const,
        reason: "RouteCreated",
        message: "RouteController created a route",
      }
    : {
        status: "True" as const,
        reason: "NoRouteCreated",
        message: "RouteController failed to create a route",
      };
  const now = node.status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
  if (now?.status === wanted.status && now.reason === wanted.reason) return [];
  const time = timeFromMs(nowMs);
  const condition: NodeCondition = {
    ...{ type: "NetworkUnavailable", ...wanted },
    ...{ lastHeartbeatTime: time, lastTransitionTime: time },
  };
  const changes = { status: { conditions: [condition] } };
  return [patch(nodeKind, node, "strategic", changes, "status")];
}

function eventOf({ node, route, message, tookMs }: FailedRoute): EventNote {
  const { name = "", uid = "" } = node.metadata;
  const about: ObjectReference = { apiVersion: "v1", kind: "Node", name, uid };
  const took = formatDuration(BigInt(Math.round(tookMs * 1_000_000)));
  const text = `Could not create route ${uid} ${route.destinationCidr} for node ${name} after ${took}: ${message}`;
  return { about, type: "Warning", reason: "FailedToCreateRoute", message: text };
}

/** At most so many at a time. */
async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>) {
  const left = items.values();
  const lanes = Array.from({ length: Math.min(CALLS_AT_ONCE_MAX, items.length) }, async () => {
    for (const item of left) await work(item);
  });
  await Promise.all(lanes);
}

const measure: Measure<RouteState> = (metrics) => {
  const syncs = metrics.counter({
    name: "route_controller_route_sync_total",
    help: "A metric counting the amount of times routes have been synced with the cloud provider.",
  })();
  return () => syncs.add(1);
};
