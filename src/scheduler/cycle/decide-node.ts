/**
 * The scheduling decision: which node a pod shall run on, or why on none. It reads the snapshot and
 * writes nothing; without extenders it does not await.
 */
import type { Random } from "#lib/random.ts";
import type {
  NominatedPods,
  Plugin,
  PostFilterContext,
  PostFilterResult,
  Rejected,
} from "#scheduler/plugin.ts";
import { unresolvable } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import { type FilterRun, startFilters } from "./filter-run.ts";
import { type FoundNodes, feasibleNodesWanted, findNodes } from "./find-nodes.ts";
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
  filter(pod: PodInfo, found: FoundNodes): Promise<FoundNodes>;
  score(pod: PodInfo, scored: ScoredNodes): Promise<ScoredNodes>;
}

const ALL_UNRESOLVABLE = unresolvable();

export function decideNode(profile: Profile, pod: PodInfo, world: World): Decision {
  const search = searchNodes(profile, pod, world);
  if (search.outcome === "none") return search;
  const { found, run } = search;
  const scored =
    found.feasible.length > 1
      ? scoreNodes(profile, pod, found.feasible, world.snapshot, run.states, found.known)
      : undefined;
  const best = scored === undefined ? 0 : pickBest(scored.totals);
  return concludeSearch(profile, pod, world, run, found, scored, best);
}

/** The same with extenders, which makes it wait for their answers. */
export async function decideNodeWithExtenders(
  profile: Profile,
  pod: PodInfo,
  world: World,
  extenders: Extenders,
): Promise<Decision> {
  const search = searchNodes(profile, pod, world);
  if (search.outcome === "none") return search;
  const { run } = search;
  const found = await extenders.filter(pod, search.found);
  let scored: ScoredNodes | undefined;
  if (found.feasible.length > 1) {
    scored = scoreNodes(profile, pod, found.feasible, world.snapshot, run.states);
    scored = await extenders.score(pod, scored);
  }
  const best = scored === undefined ? 0 : pickAnyBest(scored.totals, world.random);
  return concludeSearch(profile, pod, world, run, found, scored, best);
}

type Search =
  | { readonly outcome: "searched"; readonly run: FilterRun; readonly found: FoundNodes }
  | (Decision & { readonly outcome: "none" });

function searchNodes(profile: Profile, pod: PodInfo, world: World): Search {
  const { snapshot, nominated, cursor } = world;
  const all = snapshot.nodes;
  if (all.length === 0) return noNodes();
  const started = startFilters(profile, pod, snapshot, nominated);
  if (!started.ok) return rejectedBefore(profile, pod, all.length, started);
  const { run } = started;
  // The status may not say yet what was nominated a moment ago.
  const nominee = pod.pod.status?.nominatedNodeName ?? nominated.nodeOf(pod.uid) ?? "";
  if (nominee !== "") {
    const node = snapshot.node(nominee);
    const isCandidate = run.nodeNames === undefined || run.nodeNames.has(nominee);
    if (node !== undefined && isCandidate) {
      const found = findNodes(run, [node], { start: 0, wanted: 1 });
      if (found.feasible.length > 0) return { outcome: "searched", run, found };
    }
  }
  const nodes = run.nodeNames === undefined ? all : nodesNamed(run.nodeNames, snapshot);
  const percentage = profile.percentageOfNodesToScore ?? world.percentageOfNodesToScore;
  const wanted = profile.score.length === 0 ? 1 : feasibleNodesWanted(nodes.length, percentage);
  const results = nodes === all ? world.reusable.of(pod, all) : undefined;
  const found = findNodes(run, nodes, { start: cursor.next, wanted, results });
  cursor.next = (cursor.next + found.evaluated) % all.length;
  return { outcome: "searched", run, found };
}

function concludeSearch(
  profile: Profile,
  pod: PodInfo,
  world: World,
  run: FilterRun,
  found: FoundNodes,
  scored: ScoredNodes | undefined,
  best: number,
): Decision {
  const [only] = found.feasible;
  if (only === undefined) return noFit(profile, pod, world, run, found);
  const node = scored === undefined ? only : scored.nodes[best]!;
  return { outcome: "node", node, states: run.states, found, scored };
}

function noFit(
  profile: Profile,
  pod: PodInfo,
  { snapshot }: World,
  run: FilterRun,
  found: FoundNodes,
): Decision {
  const diagnosis: Diagnosis = {
    nodeCount: snapshot.nodes.length,
    verdicts: found.verdicts,
    absent: found.absent,
    preFilterMessage: undefined,
    plugins: new Set([...found.rejections.keys(), ...run.narrowing]),
  };
  const context = {
    verdicts: found.verdicts,
    absent: found.absent ?? ALL_UNRESOLVABLE,
    isRepeatable: run.isRepeatable,
    trial: (node: NodeInfo) => run.trial(node),
  };
  const { nomination, message } = runPostFilters(profile, pod, context, run.states);
  return {
    outcome: "none",
    message: fitErrorMessage(diagnosis, message),
    diagnosis,
    rejections: found.rejections,
    nomination,
  };
}

function runPostFilters(
  { postFilter }: Profile,
  pod: PodInfo,
  context: PostFilterContext,
  states: ReadonlyMap<Plugin, unknown>,
): { nomination: PostFilterResult | undefined; message: string } {
  const messages: string[] = [];
  let nomination: PostFilterResult | undefined;
  for (const plugin of postFilter) {
    const result = plugin.postFilter!(pod, context, states.get(plugin));
    if (result.succeeded || result.unresolvable === true) {
      return { nomination: result, message: result.message };
    }
    if (result.nominatedNode !== undefined) nomination = result;
    messages.push(result.message);
  }
  return { nomination, message: messages.join(", ") };
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
  { rejection, plugins }: { readonly rejection: Rejected; readonly plugins: readonly string[] },
): Decision & { outcome: "none" } {
  const diagnosis: Diagnosis = {
    nodeCount,
    verdicts: new Map(),
    absent: rejection,
    preFilterMessage: rejection.reasons.join(", "),
    plugins: new Set(plugins),
  };
  const { nomination, message } = runPostFilters(
    profile,
    pod,
    {
      verdicts: diagnosis.verdicts,
      absent: { ...rejection, preemptionMayHelp: false },
      isRepeatable: false,
      trial: () => {
        throw new Error("no filters ran");
      },
    },
    new Map(),
  );
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
