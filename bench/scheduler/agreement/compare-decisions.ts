/**
 * Plays seeded scenarios against kube-scheduler and ours, which watch the same API server: each pod
 * is given to the one and, when everything is as before, to the other. A case in which they differ
 * is repeated with more patience, because informers of the two see changes at different times.
 */

import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { readConfig } from "#scheduler/config/read-config.ts";
import type { Decision } from "#scheduler/cycle/decide-node.ts";
import { startSchedulingBench } from "../scheduling-cluster.ts";
import { attempt, type Patience, type Players } from "./attempt.ts";
import { type Agreement, compareOutcomes } from "./outcome.ts";
import { configurationOf } from "./profiles.ts";
import { type Case, type Scenario, scenarioOf } from "./scenario.ts";
import { UpstreamScheduler } from "./upstream-scheduler.ts";

const START_MS = 3_000;
const PATIENCE: readonly Patience[] = [
  { settleMs: 30, answerMs: 2_000 },
  { settleMs: 150, answerMs: 5_000 },
  { settleMs: 600, answerMs: 10_000 },
];

export interface ComparedCase {
  readonly seed: number;
  readonly name: string;
  readonly agreement: Agreement;
}

/** One result for each case that the API server accepts. */
export async function* compareDecisions(
  program: string,
  seeds: Iterable<number>,
): AsyncIterable<ComparedCase> {
  await using bench = await startSchedulingBench();
  const decisions = new Map<string, Decision>();
  await bench.startScheduler({
    config: readConfig(configurationOf("ours")).scheduler,
    onDecision: ({ key }, decision) => {
      if (!decisions.has(key)) decisions.set(key, decision);
    },
  });
  await using upstream = new UpstreamScheduler(program, bench.folder, bench.kubeconfig);
  await systemClock.sleep(START_MS);
  const players: Players = { bench, upstream, decisions };
  for (const seed of seeds) {
    const scenario = scenarioOf(seed);
    for (const one of scenario.others) await one.create(bench);
    await bench.nodes(scenario.nodes);
    await bench.seed(podKind, scenario.running);
    await systemClock.sleep(10 * PATIENCE[0]!.settleMs);
    for (const one of scenario.cases) {
      const agreement = await compareCase(players, scenario, one);
      if (agreement !== undefined) yield { seed, name: one.name, agreement };
    }
    await clear(players, scenario);
  }
}

async function compareCase(
  players: Players,
  scenario: Scenario,
  one: Case,
): Promise<Agreement | undefined> {
  let agreement: Agreement | undefined;
  for (const patience of PATIENCE) {
    const upstream = await attempt(players, scenario, one, "upstream", patience);
    if (upstream === undefined) return undefined;
    const ours = await attempt(players, scenario, one, "ours", patience);
    agreement = compareOutcomes(upstream, ours ?? { scores: new Map(), victims: [] });
    if (agreement.differences.length === 0) break;
  }
  return agreement;
}

async function clear({ bench }: Players, { nodes, running, others }: Scenario): Promise<void> {
  for (const { metadata } of running) {
    await bench.remove(podKind, metadata?.namespace ?? "", metadata?.name ?? "");
  }
  for (const { metadata } of nodes) await bench.remove(nodeKind, "", metadata?.name ?? "");
  for (const one of others) await one.remove(bench);
}
