/**
 * Finds nodes on which a pod fits: enough of them to choose well, not all of them in a large
 * cluster. The next search begins where this one ended.
 */
import { FITS, type Rejected, unresolvable } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { FilterRun } from "./filter-run.ts";
import type { NodeResults } from "./reusable-results.ts";

const NODES_MIN = 100;
const PERCENTAGE_MIN = 5;

export interface FoundNodes {
  readonly feasible: readonly NodeInfo[];
  readonly verdicts: ReadonlyMap<NodeInfo, Rejected>;
  readonly absent: Rejected | undefined;
  /** The plugins that rejected nodes, with the number of nodes each rejected. */
  readonly rejections: ReadonlyMap<string, number>;
  readonly evaluated: number;
  /** What is known of the nodes, and the place of each feasible node there. */
  readonly known?: KnownNodes;
}

export interface KnownNodes {
  readonly results: NodeResults;
  readonly places: readonly number[];
}

/** How many nodes that fit are enough. */
export function feasibleNodesWanted(nodeCount: number, percentage: number | undefined): number {
  if (nodeCount < NODES_MIN) return nodeCount;
  const configured = percentage ?? 0;
  const share =
    configured === 0 ? Math.max(PERCENTAGE_MIN, 50 - Math.trunc(nodeCount / 125)) : configured;
  return Math.max(NODES_MIN, Math.trunc((nodeCount * share) / 100));
}

export interface SearchOptions {
  /** The first node to try. */
  readonly start: number;
  readonly wanted: number;
  /** What is known of the same nodes from earlier pods of the same spec. */
  readonly results?: NodeResults | undefined;
}

export function findNodes(
  run: FilterRun,
  nodes: readonly NodeInfo[],
  { start, wanted, results }: SearchOptions,
): FoundNodes {
  // As long as they become in nearly all searches: arrays that grow are copied several times.
  const countMax = Math.min(wanted, nodes.length);
  const feasible = new Array<NodeInfo>(countMax);
  const places = new Array<number>(countMax);
  let count = 0;
  const verdicts = new Map<NodeInfo, Rejected>();
  const rejections = new Map<string, number>();
  let evaluated = 0;
  let next = nodes.length === 0 ? 0 : start % nodes.length;
  const reuses = results !== undefined && run.asksNodesOnly;
  for (; evaluated < nodes.length && count < wanted; evaluated++) {
    const place = next;
    next = place + 1 === nodes.length ? 0 : place + 1;
    const node = nodes[place]!;
    if (reuses && results.isKnownToFit(place)) {
      feasible[count] = node;
      places[count] = place;
      count += 1;
      continue;
    }
    const { verdict, plugin } =
      results === undefined ? run.check(node) : run.checkReusing(results, place);
    if (verdict === FITS) {
      feasible[count] = node;
      places[count] = place;
      count += 1;
      continue;
    }
    verdicts.set(node, verdict as Rejected);
    const name = plugin!.name;
    rejections.set(name, (rejections.get(name) ?? 0) + 1);
  }
  feasible.length = count;
  places.length = count;
  const absent =
    run.nodeNames === undefined
      ? undefined
      : unresolvable(`node(s) didn't satisfy plugin(s) [${run.narrowing.join(" ")}]`);
  const known = results === undefined ? {} : { known: { results, places } };
  return { feasible, verdicts, absent, rejections, evaluated, ...known };
}
