/** Gives one pod to one of two schedulers that watch the same cluster, and puts everything back. */
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Decision } from "#scheduler/cycle/decide-node.ts";
import type { Draft } from "#testing/build.ts";
import type { SchedulingBench } from "../scheduling-cluster.ts";
import type { Outcome, Scores } from "./outcome.ts";
import { type Player, schedulerNameOf } from "./profiles.ts";
import type { Case, Scenario } from "./scenario.ts";
import type { UpstreamScheduler } from "./upstream-scheduler.ts";

const POLL_MS = 5;

/** How long informers get to show an object to both schedulers, and a scheduler to answer. */
export interface Patience {
  readonly settleMs: number;
  readonly answerMs: number;
}

export interface Players {
  readonly bench: SchedulingBench;
  readonly upstream: UpstreamScheduler;
  /** The first decision of our scheduler about each pod, by NAMESPACE/NAME. */
  readonly decisions: Map<string, Decision>;
}

/** Undefined if the API server does not accept the pod. */
export async function attempt(
  { bench, upstream, decisions }: Players,
  scenario: Scenario,
  { of, profile, makesClaim }: Case,
  player: Player,
  patience: Patience,
): Promise<Outcome | undefined> {
  const { pod, seeds } = of(player);
  for (const seed of seeds) await seed.create(bench);
  await systemClock.sleep(patience.settleMs);
  const schedulerName = schedulerNameOf(player, profile);
  const namespace = pod.metadata?.namespace ?? "";
  const name = pod.metadata?.name ?? "";
  try {
    const answer = new FirstAnswer(bench, namespace, name);
    const created = await bench.tryCreatePod({ ...pod, spec: { ...pod.spec, schedulerName } });
    if (!created) return undefined;
    const first = await answer.get(patience.answerMs);
    // kube-scheduler keeps devices for a pod that goes while its claim is being made.
    if (makesClaim && first.node !== undefined) {
      await untilBound(bench, namespace, name, patience.answerMs);
    }
    const victims = first.isPreempting ? await victimsOf(bench, scenario, patience) : [];
    const scores =
      player === "upstream"
        ? upstreamScores(upstream, namespace, name)
        : ourScores(decisions.get(`${namespace}/${name}`));
    const { node, message } = first;
    return {
      ...(node === undefined ? {} : { node }),
      ...(message === undefined ? {} : { message }),
      scores,
      victims,
    };
  } finally {
    decisions.delete(`${namespace}/${name}`);
    await bench.remove(podKind, namespace, name);
    for (const seed of seeds) await seed.remove(bench);
    await restore(bench, scenario.running);
    await systemClock.sleep(patience.settleMs);
    if (await removeClaimsOf(bench, namespace, name)) await systemClock.sleep(patience.settleMs);
  }
}

async function untilBound(
  { objects }: SchedulingBench,
  namespace: string,
  name: string,
  answerMs: number,
): Promise<void> {
  const endMs = performance.now() + answerMs;
  const isBound = (): boolean =>
    (objects.get(podKind, namespace, name)?.spec.nodeName ?? "") !== "";
  while (!isBound() && performance.now() < endMs) await systemClock.sleep(POLL_MS);
}

/** Schedulers make ResourceClaims for extended resources; nothing else removes them here. */
async function removeClaimsOf(bench: SchedulingBench, namespace: string, pod: string) {
  const made = [...bench.objects.list(resourceClaimKind, namespace)].filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ name }) => name === pod),
  );
  for (const { metadata } of made) {
    await bench.remove(resourceClaimKind, namespace, metadata.name ?? "");
  }
  return made.length > 0;
}

interface Answer {
  readonly node?: string;
  readonly message?: string;
  readonly isPreempting: boolean;
}

/** The first thing that a scheduler says about the pod. */
class FirstAnswer implements Disposable {
  readonly #life = new AbortController();
  #answer: Answer | undefined;

  constructor({ objects }: SchedulingBench, namespace: string, name: string) {
    objects.onChange(
      podKind,
      (pod) => {
        if (pod?.metadata.name !== name || pod.metadata.namespace !== namespace) return;
        this.#answer ??= answerOf(pod);
      },
      this.#life.signal,
    );
  }

  async get(answerMs: number): Promise<Answer> {
    const endMs = performance.now() + answerMs;
    while (this.#answer === undefined && performance.now() < endMs) {
      await systemClock.sleep(POLL_MS);
    }
    this[Symbol.dispose]();
    return this.#answer ?? { isPreempting: false };
  }

  [Symbol.dispose](): void {
    this.#life.abort();
  }
}

function answerOf({ spec, status }: Pod): Answer | undefined {
  if ((spec.nodeName ?? "") !== "") return { node: spec.nodeName!, isPreempting: false };
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const nominated = status?.nominatedNodeName ?? "";
  if (condition?.status === "False") {
    return { message: condition.message ?? "", isPreempting: nominated !== "" };
  }
  // The node was chosen; its volumes or devices are being prepared.
  return nominated === "" ? undefined : { node: nominated, isPreempting: false };
}

/** Priorities of the pods that are being removed, once their number does not change any more. */
async function victimsOf(
  bench: SchedulingBench,
  { running }: Scenario,
  { settleMs }: Patience,
): Promise<readonly number[]> {
  let victims: readonly number[] = [];
  for (let stableMs = 0; stableMs < 3 * settleMs || victims.length === 0; stableMs += settleMs) {
    await systemClock.sleep(settleMs);
    const now = running
      .filter((pod) => isLeaving(bench, pod))
      .map(({ spec }) => spec?.priority ?? 0);
    if (now.length !== victims.length) stableMs = 0;
    victims = now.sort((a, b) => a - b);
    if (stableMs > 50 * settleMs) break;
  }
  return victims;
}

function isLeaving({ objects }: SchedulingBench, { metadata }: Draft<Pod>): boolean {
  const pod = objects.get(podKind, metadata?.namespace ?? "", metadata?.name ?? "");
  return pod === undefined || pod.metadata.deletionTimestamp !== undefined;
}

/** Replaces pods that were preempted. */
async function restore(bench: SchedulingBench, running: readonly Draft<Pod>[]): Promise<void> {
  for (const pod of running.filter((one) => isLeaving(bench, one))) {
    await bench.remove(podKind, pod.metadata?.namespace ?? "", pod.metadata?.name ?? "");
    await bench.seed(podKind, [pod]);
  }
}

function upstreamScores(
  upstream: UpstreamScheduler,
  namespace: string,
  name: string,
): ReadonlyMap<string, Scores> {
  const scores = new Map<string, Scores>();
  for (const [node, { total, byPlugin }] of upstream.takeScores(namespace, name)) {
    scores.set(node, { total: total ?? Number.NaN, byPlugin });
  }
  return scores;
}

function ourScores(decision: Decision | undefined): ReadonlyMap<string, Scores> {
  const scores = new Map<string, Scores>();
  if (decision?.outcome !== "node" || decision.scored === undefined) return scores;
  const { nodes, totals, byPlugin } = decision.scored;
  for (const [index, { name }] of nodes.entries()) {
    scores.set(name, {
      total: totals[index]!,
      byPlugin: new Map(
        byPlugin.map(({ plugin, weight, scores: own }) => [plugin, own[index]! * weight]),
      ),
    });
  }
  return scores;
}
