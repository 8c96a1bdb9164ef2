/** Scores the nodes on which a pod fits and picks the best. */
import type { Random } from "#lib/random.ts";
import { timed } from "#scheduler/metrics/extension-points.ts";
import type { Plugin } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import type { Snapshot } from "#scheduler/snapshot/snapshot.ts";
import type { KnownNodes } from "./find-nodes.ts";
import { runHook } from "./plugin-error.ts";
import type { Profile } from "./profile.ts";

export interface PluginScores {
  readonly plugin: string;
  readonly weight: number;
  /** 0 to 100, without the weight, in the order of the nodes. */
  readonly scores: readonly number[];
}

export interface ScoredNodes {
  readonly nodes: readonly NodeInfo[];
  readonly totals: number[];
  readonly byPlugin: readonly PluginScores[];
}

const SCORE_MAX = 100;

export function scoreNodes(
  { preScore, score, observer }: Profile,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  snapshot: Snapshot,
  filterStates: ReadonlyMap<Plugin, unknown>,
  known?: KnownNodes,
): ScoredNodes {
  const states = new Map<Plugin, unknown>();
  const skipped = new Set<Plugin>();
  timed(
    observer,
    "PreScore",
    () => {
      for (const plugin of preScore) {
        const result = runHook(`running PreScore plugin "${plugin.name}"`, () =>
          plugin.preScore!(pod, nodes, snapshot, filterStates.get(plugin)),
        );
        if (result.skip) {
          skipped.add(plugin);
          continue;
        }
        states.set(plugin, result.state);
        observer.evaluated(plugin.name, "PreScore", 1);
      }
    },
    succeeded,
  );
  const totals = new Array<number>(nodes.length).fill(0);
  const byPlugin: PluginScores[] = [];
  timed(
    observer,
    "Score",
    () => {
      for (const { plugin, weight } of score) {
        if (skipped.has(plugin)) continue;
        const { scores, asked } = scoresOf(plugin, states.get(plugin), pod, nodes, known);
        observer.evaluated(plugin.name, "Score", asked);
        addScores(plugin.name, totals, scores, weight);
        byPlugin.push({ plugin: plugin.name, weight, scores });
      }
    },
    succeeded,
  );
  return { nodes, totals, byPlugin };
}

function succeeded(): "Success" {
  return "Success";
}

/** `asked` is for how many nodes the plugin had to be asked. */
interface AskedScores {
  readonly scores: number[];
  readonly asked: number;
}

function scoresOf(
  plugin: Plugin,
  state: unknown,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  known: KnownNodes | undefined,
): AskedScores {
  const failed = `plugin "${plugin.name}" failed with`;
  const answer = runHook(`running Score plugins: ${failed}`, () =>
    known === undefined || plugin.scoresByNodeOnly !== true
      ? { scores: allScores(plugin, state, pod, nodes), asked: nodes.length }
      : rawScores(plugin, state, pod, nodes, known),
  );
  runHook(`running Normalize on Score plugins: ${failed}`, () =>
    plugin.normalize?.(state, answer.scores, nodes),
  );
  return answer;
}

function addScores(
  plugin: string,
  totals: number[],
  scores: readonly number[],
  weight: number,
): void {
  for (let i = 0; i < scores.length; i++) {
    const score = scores[i]!;
    if (!(score >= 0 && score <= SCORE_MAX)) {
      throw new Error(
        `applying score defaultWeights on Score plugins: plugin "${plugin}" returns an invalid score ${score}, it should in the range of [0, ${SCORE_MAX}] after normalizing`,
      );
    }
    totals[i]! += score * weight;
  }
}

function allScores(
  plugin: Plugin,
  state: unknown,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
): number[] {
  return (
    plugin.scoreNodes?.(state, pod, nodes) ?? nodes.map((node) => plugin.score!(state, pod, node))
  );
}

/** Asks only for the nodes whose score is not known. */
function rawScores(
  plugin: Plugin,
  state: unknown,
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  { results, places }: KnownNodes,
): AskedScores {
  const kept = results.scoresOf(plugin.name);
  const scores = new Array<number>(nodes.length);
  let asked = 0;
  for (let i = 0; i < nodes.length; i++) {
    let score = kept[places[i]!]!;
    if (Number.isNaN(score)) {
      score = plugin.score!(state, pod, nodes[i]!);
      kept[places[i]!] = score;
      asked += 1;
    }
    scores[i] = score;
  }
  return { scores, asked };
}

/**
 * The index of a node with the highest score. Among equals it is the one that upstream takes, which
 * is the root of a binary heap over the nodes in the order in which they were found.
 */
export function pickBest(totals: readonly number[]): number {
  const count = totals.length;
  const heap = new Int32Array(count);
  for (let i = 0; i < count; i++) heap[i] = i;
  for (let start = (count >> 1) - 1; start >= 0; start--) {
    const sinking = heap[start]!;
    const total = totals[sinking]!;
    let parent = start;
    for (let child = 2 * parent + 1; child < count; child = 2 * parent + 1) {
      if (child + 1 < count && totals[heap[child + 1]!]! > totals[heap[child]!]!) child += 1;
      if (totals[heap[child]!]! <= total) break;
      heap[parent] = heap[child]!;
      parent = child;
    }
    heap[parent] = sinking;
  }
  return heap[0]!;
}

/** The same with every node that has the highest score equally likely, as with extenders. */
export function pickAnyBest(totals: readonly number[], random: Random): number {
  let best = 0;
  let ties = 1;
  for (let i = 1; i < totals.length; i++) {
    if (totals[i]! > totals[best]!) {
      best = i;
      ties = 1;
    } else if (totals[i] === totals[best]) {
      ties += 1;
      if (random.integer(ties) === 0) best = i;
    }
  }
  return best;
}
