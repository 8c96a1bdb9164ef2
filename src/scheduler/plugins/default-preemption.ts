/**
 * Makes room for a pod that fits nowhere by removing pods of lower priority from the node where
 * that does the least harm.
 */

import { fitErrorMessage } from "#scheduler/cycle/fit-error.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  type PostFilterContext,
  type PostFilterResult,
  type Rejected,
  unresolvable,
} from "#scheduler/plugin.ts";
import { CandidateCache } from "#scheduler/preemption/candidate-cache.ts";
import { pickCandidate } from "#scheduler/preemption/pick-candidate.ts";
import { resultOf } from "#scheduler/preemption/steps.ts";
import { type Candidate, selectVictims } from "#scheduler/preemption/victims.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { PodInfo } from "#scheduler/snapshot/pod-info.ts";

const NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling");
const PREEMPTING = unresolvable("waiting for the preemption for this pod to be finished");

export interface DefaultPreemptionArgs {
  readonly minCandidateNodesPercentage?: number;
  readonly minCandidateNodesAbsolute?: number;
}

export const defaultPreemption: PluginFactory = {
  name: "DefaultPreemption",
  create: (args, handle) => {
    const { minCandidateNodesPercentage = 10, minCandidateNodesAbsolute = 100 } = (args ??
      {}) as DefaultPreemptionArgs;
    const limits = { percentage: minCandidateNodesPercentage, absolute: minCandidateNodesAbsolute };
    const cache = new CandidateCache();
    function* postFilterSteps(
      pod: PodInfo,
      context: PostFilterContext,
    ): Generator<void, PostFilterResult> {
      const current = latestOf(pod, handle);
      const proposal = yield* propose(current, context, handle, limits, cache);
      return withPrefix(
        proposal.ok ? carryOut(current, proposal.candidates, handle) : proposal.result,
      );
    }
    return definePlugin({
      name: "DefaultPreemption",
      preEnqueue: ({ uid }) => (handle.preemptions.isRunning(uid) ? PREEMPTING : FITS),
      postFilter: (pod, context) => resultOf(postFilterSteps(pod, context)),
      postFilterSteps,
      postFilterWithExtenders: async (pod, context, review) => {
        const current = latestOf(pod, handle);
        const proposal = resultOf(propose(current, context, handle, limits, cache));
        if (!proposal.ok) return withPrefix(proposal.result);
        const candidates = await review(current, proposal.candidates);
        if (candidates.length > 0) return carryOut(current, candidates, handle);
        const message = "no candidate node for preemption";
        return withPrefix({ succeeded: false, message });
      },
      wakeOn: [{ event: "pod-deleted", wakes: () => false }],
    });
  },
};

interface Limits {
  readonly percentage: number;
  readonly absolute: number;
}

type Proposal =
  | { readonly ok: true; readonly candidates: readonly Candidate[] }
  | { readonly ok: false; readonly result: PostFilterResult };

function latestOf(pod: PodInfo, { objects }: Handle): PodInfo {
  const latest = objects.pods.get(pod.namespace, pod.name);
  return latest === undefined ? pod : new PodInfo(latest);
}

function withPrefix(result: PostFilterResult): PostFilterResult {
  return result.message === "" ? result : { ...result, message: `preemption: ${result.message}` };
}

/** The nodes on which room can be made, at least one; or why there are none. */
function* propose(
  pod: PodInfo,
  context: PostFilterContext,
  handle: Handle,
  limits: Limits,
  cache: CandidateCache,
): Generator<void, Proposal> {
  const reason = ineligibility(pod, context, handle);
  if (reason !== undefined) return { ok: false, result: { succeeded: false, message: reason } };
  const { candidates, verdicts } = yield* dryRun(pod, context, handle, limits, cache);
  if (candidates.length === 0) {
    const nodeCount = handle.snapshot.nodes.length;
    const diagnosis = {
      ...{ nodeCount, verdicts, absent: NOT_HELPFUL, preFilterMessage: undefined },
      plugins: new Set<string>(),
    };
    const message = fitErrorMessage(diagnosis, "");
    return { ok: false, result: { succeeded: false, nominatedNode: "", message } };
  }
  return { ok: true, candidates };
}

function carryOut(
  pod: PodInfo,
  candidates: readonly Candidate[],
  handle: Handle,
): PostFilterResult {
  const { node, victims } = pickCandidate(candidates, handle.clock.nowMs());
  const displaced = handle.nominated.onNode(node).filter((other) => other.priority < pod.priority);
  handle.preemptions.start({ pod, node, victims, displaced });
  const names = victims.map(({ key }) => key);
  return { succeeded: true, nominatedNode: node, victims: names, message: "" };
}

/** Why the pod may not preempt others; undefined if it may. */
function ineligibility(
  { pod, priority }: PodInfo,
  { verdicts, absent }: PostFilterContext,
  { snapshot }: Handle,
): string | undefined {
  if (pod.spec.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const nominated = snapshot.node(pod.status?.nominatedNodeName ?? "");
  if (nominated === undefined) return undefined;
  if (!(verdicts.get(nominated) ?? absent).preemptionMayHelp) return undefined;
  for (const other of nominated.pods.values()) {
    if (other.priority < priority && isTerminatingByPreemption(other)) {
      return "not eligible due to a terminating pod on the nominated node.";
    }
  }
  return undefined;
}

function isTerminatingByPreemption({ isTerminating, pod }: PodInfo): boolean {
  if (!isTerminating) return false;
  const target = pod.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
  return target?.status === "True" && target.reason === "PreemptionByScheduler";
}

/** Yields after each node for which victims had to be selected. */
function* dryRun(
  pod: PodInfo,
  { verdicts: filtered, absent, trial, isRepeatable }: PostFilterContext,
  { snapshot, objects, nominated, random, clock }: Handle,
  { percentage, absolute }: Limits,
  cache: CandidateCache,
): Generator<
  void,
  { candidates: readonly Candidate[]; verdicts: ReadonlyMap<NodeInfo, Rejected> }
> {
  const potential = snapshot.nodes.filter(
    (node) => (filtered.get(node) ?? absent).preemptionMayHelp,
  );
  const verdicts = new Map<NodeInfo, Rejected>();
  if (potential.length === 0) return { candidates: [], verdicts };
  const budgets = [...objects.podDisruptionBudgets.list()];
  const known = isRepeatable && budgets.length === 0 ? cache.of(pod) : undefined;
  const share = Math.trunc((potential.length * percentage) / 100);
  const wanted = Math.min(potential.length, Math.max(share, absolute));
  const offset = random.integer(potential.length);
  const kind: Candidate[] = [];
  const harsh: Candidate[] = [];
  for (let i = 0; i < potential.length; i++) {
    const node = potential[(offset + i) % potential.length]!;
    const others = nominated.onNode(node.name);
    // A pod's own nomination counts for the other pods and not for itself.
    const remembered = others.some(({ uid }) => uid === pod.uid) ? undefined : known;
    const before = remembered?.get(node);
    const isKnown = before?.version === node.version && before.nominated === others;
    const result = isKnown
      ? before.result
      : selectVictims(pod, node, trial, budgets, clock.nowMs());
    if (!isKnown) remembered?.set(node, { version: node.version, nominated: others, result });
    if ("fits" in result) verdicts.set(node, result);
    else if (result.victims.length > 0) {
      (result.violations === 0 ? kind : harsh).push(result);
      if (kind.length > 0 && kind.length + harsh.length >= wanted) break;
    }
    if (!isKnown) yield;
  }
  return { candidates: [...kind, ...harsh], verdicts };
}
