/**
 * The scheduling decision: which node a pod shall run on, or why on none. It reads the snapshot and
 * writes nothing. It awaits extenders, and between the steps of a long preemption; nothing else.
 */
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Random } from "#lib/random.ts";
import { statusCodeOf, timed } from "#scheduler/metrics/extension-points.ts";
import { postFilterCode } from "#scheduler/metrics/measured-profile.ts";
import type {
  NominatedPods,
  Plugin,
  PostFilterContext,
  PostFilterResult,
  PreemptionReview,
} from "#scheduler/plugin.ts";
import { unresolvable } from "#scheduler/plugin.ts";
import { type Pause, resultInSlices } from "#scheduler/preemption/steps.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import { type FilterRun, type PreFilterRejection, startFilters } from "./filter-run.ts";
import {
  type FoundNodes,
  feasibleNodesWanted,
  findNodes,
  type SearchOptions,
} from "./find-nodes.ts";
import { type Diagnosis, fitErrorMessage } from "./fit-error.ts";
import type { Profile } from "./profile.ts";
import type { ReusableResults } from "./reusable-results.ts";
import { pickAnyBest, pickBest, type ScoredNodes, scoreNodes } from "./score-nodes.ts";

export interface World {
  readonly snapshot: Snapshot;
  readonly nominated: NominatedPods;
  readonly random: Random;
  /** Where the next search for nodes begins; moved on by each decision. */
  readonly cursor: { next: number };
  /** What earlier decisions found out about nodes. */
  readonly reusable: ReusableResults;
  /** Unless the profile says otherwise. */
  readonly percentageOfNodesToScore: number | undefined;
}

export type Decision =
  | {
      readonly outcome: "node";
      readonly node: NodeInfo;
      readonly states: ReadonlyMap<Plugin, unknown>;
      readonly found: FoundNodes;
      /** Undefined if only one node fits. */
      readonly scored: ScoredNodes | undefined;
    }
  | {
      readonly outcome: "none";
      readonly message: string;
      readonly diagnosis: Diagnosis;
      readonly rejections: ReadonlyMap<string, number>;
      readonly nomination: PostFilterResult | undefined;
    };

/** Extra filters and scores that are asked over the network. */
export interface Extenders {
  readonly hasFilters: boolean;
  readonly hasScores: boolean;
  /** Undefined if no extender wants a say in preemption. */
  readonly review: ((snapshot: Snapshot) => PreemptionReview) | undefined;
  filter(pod: PodInfo, found: FoundNodes): Promise<FoundNodes>;
  score(pod: PodInfo, scored: ScoredNodes): Promise<ScoredNodes>;
}

const ALL_UNRESOLVABLE = unresolvable();
const NONE_UNASKED: ReadonlySet<string> = new Set();

/** A promise only if `pause` interrupts a preemption that takes long. */
export function decideNode(
  profile: Profile,
  pod: PodInfo,
  world: World,
  pause: Pause,
): MaybePromise<Decision> {
  const search = searchNodes(profile, pod, world);
  if (search.outcome === "none") return search;
  const { found, run } = search;
  if (found.feasible.length === 0) {
    const context = postFilterContext(run, found);
    const answer = timedPostFilters(profile, () =>
      runPostFilters(profile, pod, context, run.states, pause),
    );
    return andThen(answer, (done) => noFit(world, run, found, done));
  }
  const scored =
    found.feasible.length > 1
      ? scoreNodes(profile, pod, found.feasible, world.snapshot, run.states, found.known)
      : undefined;
  const best = scored === undefined ? 0 : pickBest(scored.totals);
  return chosen(run, found, scored, best);
}

/** The same with extenders, which makes it wait for their answers. */
export async function decideNodeWithExtenders(
  profile: Profile,
  pod: PodInfo,
  world: World,
  extenders: Extenders,
  pause: Pause,
): Promise<Decision> {
  const search = searchNodes(profile, pod, world);
  if (search.outcome === "none") return search;
  const { run } = search;
  const found = await extenders.filter(pod, search.found);
  if (found.feasible.length === 0) {
    const review = extenders.review?.(world.snapshot);
    const context = postFilterContext(run, found);
    const answer = timedPostFilters(profile, () =>
      review === undefined
        ? runPostFilters(profile, pod, context, run.states, pause)
        : runReviewedPostFilters(profile, pod, context, run.states, review),
    );
    return noFit(world, run, found, await answer);
  }
  let scored: ScoredNodes | undefined;
  if (found.feasible.length > 1) {
    scored = scoreNodes(profile, pod, found.feasible, world.snapshot, run.states);
    scored = await extenders.score(pod, scored);
  }
  const best = scored === undefined ? 0 : pickAnyBest(scored.totals, world.random);
  return chosen(run, found, scored, best);
}

type Search =
  | { readonly outcome: "searched"; readonly run: FilterRun; readonly found: FoundNodes }
  | (Decision & { readonly outcome: "none" });

function searchNodes(profile: Profile, pod: PodInfo, world: World): Search {
  const { snapshot, nominated, cursor } = world;
  const all = snapshot.nodes;
  if (all.length === 0) return noNodes();
  const { observer } = profile;
  const started = timed(
    observer,
    "PreFilter",
    () => startFilters(profile, pod, snapshot, nominated),
    (outcome) => (outcome.ok ? "Success" : statusCodeOf(outcome.rejection)),
  );
  if (!started.ok) return rejectedBefore(profile, pod, all.length, started);
  const { run } = started;
  // The status may not say yet what was nominated a moment ago.
  const nominee = pod.pod.status?.nominatedNodeName ?? nominated.nodeOf(pod.uid) ?? "";
  if (nominee !== "") {
    const node = snapshot.node(nominee);
    const isCandidate = run.nodeNames === undefined || run.nodeNames.has(nominee);
    if (node !== undefined && isCandidate) {
      const found = findTimed(profile, run, [node], { start: 0, wanted: 1 });
      if (found.feasible.length > 0) return { outcome: "searched", run, found };
    }
  }
  const nodes = run.nodeNames === undefined ? all : nodesNamed(run.nodeNames, snapshot);
  const percentage = profile.percentageOfNodesToScore ?? world.percentageOfNodesToScore;
  const wanted = profile.score.length === 0 ? 1 : feasibleNodesWanted(nodes.length, percentage);
  const results = nodes === all ? world.reusable.of(pod, snapshot) : undefined;
  const found = findTimed(profile, run, nodes, { start: cursor.next, wanted, results });
  for (const [plugin, times] of run.evaluations()) observer.evaluated(plugin, "Filter", times);
  cursor.next = (cursor.next + found.evaluated) % all.length;
  return { outcome: "searched", run, found };
}

function findTimed(
  { observer }: Profile,
  run: FilterRun,
  nodes: readonly NodeInfo[],
  options: SearchOptions,
): FoundNodes {
  return timed(
    observer,
    "Filter",
    () => findNodes(run, nodes, options),
    () => "Success",
  );
}

function chosen(
  run: FilterRun,
  found: FoundNodes,
  scored: ScoredNodes | undefined,
  best: number,
): Decision {
  const node = scored === undefined ? found.feasible[0]! : scored.nodes[best]!;
  return { outcome: "node", node, states: run.states, found, scored };
}

function postFilterContext(run: FilterRun, found: FoundNodes): PostFilterContext {
  return {
    verdicts: found.verdicts,
    absent: found.absent ?? ALL_UNRESOLVABLE,
    isRepeatable: run.isRepeatable,
    unasked: NONE_UNASKED,
    trial: (node) => run.trial(node),
  };
}

function noFit(
  { snapshot }: World,
  run: FilterRun,
  found: FoundNodes,
  { nomination, message }: PostFilterAnswer,
): Decision {
  const diagnosis: Diagnosis = {
    nodeCount: snapshot.nodes.length,
    verdicts: found.verdicts,
    absent: found.absent,
    preFilterMessage: undefined,
    plugins: new Set([...found.rejections.keys(), ...run.narrowing]),
  };
  return {
    outcome: "none",
    message: fitErrorMessage(diagnosis, message),
    diagnosis,
    rejections: found.rejections,
    nomination,
  };
}

interface PostFilterAnswer {
  /** The answer of the plugin that was asked last. */
  readonly result: PostFilterResult | undefined;
  readonly nomination: PostFilterResult | undefined;
  readonly message: string;
}

function runPostFilters(
  { postFilter }: Profile,
  pod: PodInfo,
  context: PostFilterContext,
  states: ReadonlyMap<Plugin, unknown>,
  pause: Pause,
): MaybePromise<PostFilterAnswer> {
  const from = (
    index: number,
    before: readonly PostFilterResult[],
  ): MaybePromise<PostFilterAnswer> => {
    const plugin = postFilter[index];
    if (plugin === undefined) return answerOf(before);
    const steps = plugin.postFilterSteps?.(pod, context);
    const result =
      steps === undefined
        ? plugin.postFilter!(pod, context, states.get(plugin))
        : resultInSlices(steps, pause);
    return andThen(result, (one) =>
      isFinal(one) ? answerOf([...before, one]) : from(index + 1, [...before, one]),
    );
  };
  return from(0, []);
}

function timedPostFilters(
  { observer }: Profile,
  run: () => MaybePromise<PostFilterAnswer>,
): MaybePromise<PostFilterAnswer> {
  const sinceMs = observer.nowMs();
  return andThen(run(), (answer) => {
    if (answer.result !== undefined) {
      observer.ended("PostFilter", postFilterCode(answer.result), sinceMs);
    }
    return answer;
  });
}

async function runReviewedPostFilters(
  { postFilter }: Profile,
  pod: PodInfo,
  context: PostFilterContext,
  states: ReadonlyMap<Plugin, unknown>,
  review: PreemptionReview,
): Promise<PostFilterAnswer> {
  const results: PostFilterResult[] = [];
  for (const plugin of postFilter) {
    const result =
      (await plugin.postFilterWithExtenders?.(pod, context, review)) ??
      plugin.postFilter!(pod, context, states.get(plugin));
    results.push(result);
    if (isFinal(result)) break;
  }
  return answerOf(results);
}

function isFinal({ succeeded, unresolvable }: PostFilterResult): boolean {
  return succeeded || unresolvable === true;
}

function answerOf(results: readonly PostFilterResult[]): PostFilterAnswer {
  const last = results.at(-1);
  if (last !== undefined && isFinal(last)) {
    return { result: last, nomination: last, message: last.message };
  }
  return {
    result: last,
    nomination: results.findLast(({ nominatedNode }) => nominatedNode !== undefined),
    message: results.map(({ message }) => message).join(", "),
  };
}

function noNodes(): Decision & { outcome: "none" } {
  return {
    outcome: "none",
    message: "no nodes available to schedule pods",
    diagnosis: {
      nodeCount: 0,
      verdicts: new Map(),
      absent: undefined,
      preFilterMessage: undefined,
      plugins: new Set(),
    },
    rejections: new Map(),
    nomination: { nominatedNode: "", succeeded: false, message: "" },
  };
}

/** Preemption can still be asked for: a rejection of all nodes may say that it helps. */
function rejectedBefore(
  profile: Profile,
  pod: PodInfo,
  nodeCount: number,
  { rejection, plugins, unasked }: PreFilterRejection,
): Decision & { outcome: "none" } {
  const diagnosis: Diagnosis = {
    nodeCount,
    verdicts: new Map(),
    absent: rejection,
    preFilterMessage: rejection.reasons.join(", "),
    plugins: new Set(plugins),
  };
  const context: PostFilterContext = {
    verdicts: diagnosis.verdicts,
    absent: { ...rejection, preemptionMayHelp: false },
    ...{ isRepeatable: false, unasked },
    trial: () => {
      throw new Error("no filters ran");
    },
  };
  const results: PostFilterResult[] = [];
  for (const plugin of profile.postFilter) {
    results.push(plugin.postFilter!(pod, context, undefined));
    if (isFinal(results.at(-1)!)) break;
  }
  const { nomination, message } = answerOf(results);
  return {
    outcome: "none",
    message: fitErrorMessage(diagnosis, message),
    diagnosis,
    rejections: new Map(plugins.map((name) => [name, nodeCount])),
    nomination,
  };
}

function nodesNamed(names: ReadonlySet<string>, snapshot: Snapshot): NodeInfo[] {
  return [...names].flatMap((name) => snapshot.node(name) ?? []);
}
