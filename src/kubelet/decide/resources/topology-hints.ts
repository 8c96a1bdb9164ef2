/**
 * The topology manager's decision: the providers of cpu, memory and devices say on which sets of NUMA
 * nodes they can give a container what it asks for; the hints are merged into one, and the policy
 * says whether the pod is admitted with it.
 */
import { type NumaMask, nodesOf, numaMask, sizeOf } from "./numa-mask.ts";

export type TopologyPolicy = "none" | "best-effort" | "restricted" | "single-numa-node";

export interface TopologyHint {
  /** Undefined: any NUMA node. */
  readonly affinity: NumaMask | undefined;
  readonly preferred: boolean;
}

/** By resource. Undefined: no preference. An empty list: the request cannot be satisfied. */
export type ProviderHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

export interface NumaLayout {
  readonly nodes: readonly number[];
  /** From each node to each node, by position; only for prefer-closest-numa-nodes. */
  readonly distances?: ReadonlyMap<number, readonly number[]>;
}

export interface MergeOptions {
  readonly policy: Exclude<TopologyPolicy, "none">;
  readonly numa: NumaLayout;
  readonly preferClosest: boolean;
}

export interface MergedHint {
  readonly hint: TopologyHint;
  readonly admitted: boolean;
}

export function mergeHints(providers: readonly ProviderHints[], options: MergeOptions): MergedHint {
  const all = numaMask(options.numa.nodes);
  const hints = providers.flatMap(listsOf);
  if (options.policy !== "single-numa-node") {
    const hint = bestOf(hints, all, options);
    return { hint, admitted: options.policy === "best-effort" || hint.preferred };
  }
  const single = hints.map((list) =>
    list.filter(
      ({ affinity, preferred }) => preferred && (affinity === undefined || sizeOf(affinity) === 1),
    ),
  );
  const best = bestOf(single, all, options);
  const hint = best.affinity === all ? { affinity: undefined, preferred: best.preferred } : best;
  return { hint, admitted: hint.preferred };
}

function listsOf(hints: ProviderHints): (readonly TopologyHint[])[] {
  if (hints.size === 0) return [[{ affinity: undefined, preferred: true }]];
  return [...hints.values()].map((list) => {
    if (list === undefined) return [{ affinity: undefined, preferred: true }];
    return list.length === 0 ? [{ affinity: undefined, preferred: false }] : list;
  });
}

/**
 * Merges one hint per resource in every combination and keeps the best. Combinations with the same
 * result are followed once, so the work grows with the number of NUMA sets, not of combinations.
 */
function bestOf(
  lists: readonly (readonly TopologyHint[])[],
  all: NumaMask,
  options: MergeOptions,
): TopologyHint {
  const narrowest = Math.max(0, ...lists.map(narrowestSize));
  let states: readonly Merged[] = [{ affinity: all, preferred: true, first: undefined }];
  for (const list of lists) {
    const next = new Map<string, Merged>();
    for (const state of states) {
      for (const hint of list) {
        const one = withHint(state, hint);
        next.set(`${one.affinity} ${one.preferred} ${one.first}`, one);
      }
    }
    states = [...next.values()];
  }
  let best: TopologyHint | undefined;
  for (const { affinity, preferred } of states) {
    best = better(best, { affinity, preferred }, narrowest, options);
  }
  return best ?? { affinity: all, preferred: false };
}

interface Candidate extends TopologyHint {
  readonly affinity: NumaMask;
}

interface Merged extends Candidate {
  /** The set that all hints so far name; only while the result is preferred. */
  readonly first: NumaMask | undefined;
}

function withHint({ affinity, preferred, first }: Merged, hint: TopologyHint): Merged {
  const mask = hint.affinity;
  const isSame = mask === undefined || first === undefined || mask === first;
  const isPreferred = preferred && hint.preferred && isSame;
  return {
    affinity: mask === undefined ? affinity : affinity & mask,
    preferred: isPreferred,
    first: isPreferred ? (first ?? mask) : undefined,
  };
}

function narrowestSize(list: readonly TopologyHint[]): number {
  const sizes = list.flatMap(({ affinity }) => (affinity === undefined ? [] : [sizeOf(affinity)]));
  return sizes.length === 0 ? 0 : Math.min(...sizes);
}

/** `narrowest`: the number of NUMA nodes that the widest of the narrowest hints needs. */
function better(
  current: TopologyHint | undefined,
  candidate: Candidate,
  narrowest: number,
  options: MergeOptions,
): TopologyHint | undefined {
  if (candidate.affinity === 0n) return current;
  if (current?.affinity === undefined) return candidate;
  if (current.preferred !== candidate.preferred) return current.preferred ? current : candidate;
  const [mine, other] = [sizeOf(current.affinity), sizeOf(candidate.affinity)];
  const byMask = (): TopologyHint =>
    isBetterMask(candidate.affinity, current.affinity ?? 0n, options) ? candidate : current;
  if (current.preferred || mine > narrowest) return byMask();
  if (mine === narrowest) return other === narrowest ? byMask() : current;
  if (other > narrowest) return current;
  if (other === narrowest) return candidate;
  if (other !== mine) return other > mine ? candidate : current;
  return byMask();
}

function isBetterMask(mask: NumaMask, than: NumaMask, options: MergeOptions): boolean {
  if (mask === than) return false;
  const { policy, preferClosest, numa } = options;
  if (sizeOf(mask) === sizeOf(than) && preferClosest && policy !== "single-numa-node") {
    const [mine, other] = [averageDistance(mask, numa), averageDistance(than, numa)];
    if (mine !== other) return mine < other;
  }
  return isNarrower(mask, than);
}

export function isNarrower(mask: NumaMask, than: NumaMask): boolean {
  return sizeOf(mask) === sizeOf(than) ? mask < than : sizeOf(mask) < sizeOf(than);
}

function averageDistance(mask: NumaMask, { distances, nodes: order }: NumaLayout): number {
  const nodes = nodesOf(mask);
  const pairs = nodes.flatMap((from) =>
    nodes.map((to) => distances?.get(from)?.[order.indexOf(to)] ?? 0),
  );
  return pairs.length === 0 ? 0 : pairs.reduce((sum, one) => sum + one, 0) / pairs.length;
}
