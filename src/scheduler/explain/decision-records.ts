/**
 * Why a pod runs where it runs, or does not run: the last attempts of each pod.
 *
 * Promises:
 * 1. At most `PODS_MAX` pods and `ATTEMPTS_MAX` attempts of each are kept; the pod that was tried
 *    longest ago goes first.
 * 2. A record holds texts and numbers only, so it keeps no object of the cluster alive.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { Decision } from "#scheduler/cycle/decide-node.ts";
import type { Rejected } from "#scheduler/plugin.ts";
import { mayBeDevices } from "#scheduler/plugins/dynamic-resources/device-class-resources.ts";
import { shortagesOf } from "#scheduler/plugins/node-resources-fit.ts";
import type { QueuedPod } from "#scheduler/queue/queued-pod.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";

const PODS_MAX = 10_000;
const ATTEMPTS_MAX = 5;
const RUNNERS_UP = 2;

export interface NodeScore {
  readonly node: string;
  readonly total: number;
  /** Weighted scores by plugin. */
  readonly byPlugin: Readonly<Record<string, number>>;
}

export interface NearestMiss {
  readonly node: string;
  readonly shortages: readonly {
    readonly resource: string;
    readonly requested: number;
    readonly free: number;
    readonly capacity: number;
  }[];
}

export interface AttemptRecord {
  readonly atMs: number;
  readonly attempt: number;
  readonly nodeCount: number;
  readonly evaluated: number;
  readonly feasible: number;
  /** How many nodes each plugin rejected. */
  readonly rejections: Readonly<Record<string, number>>;
  /** How many nodes each reason rejected. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly outcome:
    | { readonly kind: "node"; readonly node: string; readonly scores: readonly NodeScore[] }
    | {
        readonly kind: "none";
        readonly message: string;
        readonly nominatedNode: string | undefined;
        /** The pods that preemption removes, as NAMESPACE/NAME. */
        readonly victims: readonly string[];
        readonly nearestMiss: NearestMiss | undefined;
      };
  /** Why the pod was not bound to the node that was chosen. */
  readonly failure?: string;
}

/** A plugin keeps the pod out of the queue: it is not tried. */
export interface HeldRecord {
  readonly atMs: number;
  readonly plugin: string;
  readonly reasons: readonly string[];
}

export interface PodRecord {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly attempts: readonly AttemptRecord[];
  readonly held: HeldRecord | undefined;
}

interface Kept {
  readonly uid: string;
  readonly attempts: AttemptRecord[];
  held: HeldRecord | undefined;
}

export class DecisionRecords {
  readonly #clock: Clock;
  readonly #pods = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add({ info, attempts }: QueuedPod, decision: Decision): void {
    const record = this.#keep(info);
    record.held = undefined;
    record.attempts.push(recordOf(info, attempts, decision, this.#clock.nowMs()));
    if (record.attempts.length > ATTEMPTS_MAX) record.attempts.shift();
  }

  /** A plugin keeps the pod out of the queue. */
  hold(info: PodInfo, plugin: string, reasons: readonly string[]): void {
    this.#keep(info).held = { atMs: this.#clock.nowMs(), plugin, reasons };
  }

  /** The pod was not bound to the node that its last attempt chose. */
  fail({ key, uid }: PodInfo, failure: string): void {
    const record = this.#pods.get(key);
    const last = record?.attempts.at(-1);
    if (record?.uid !== uid || last?.outcome.kind !== "node") return;
    record.attempts[record.attempts.length - 1] = { ...last, failure };
  }

  /** The record of a pod, as the latest one. */
  #keep({ key, uid }: PodInfo): Kept {
    const known = this.#pods.get(key);
    this.#pods.delete(key);
    const record = known?.uid === uid ? known : { uid, attempts: [], held: undefined };
    this.#pods.set(key, record);
    if (this.#pods.size > PODS_MAX) this.#pods.delete(this.#pods.keys().next().value!);
    return record;
  }

  /** The attempts of one pod, the latest last. */
  of(namespace: string, name: string): PodRecord | undefined {
    const record = this.#pods.get(`${namespace}/${name}`);
    return record === undefined ? undefined : { namespace, name, ...record };
  }
}

function recordOf(info: PodInfo, attempt: number, decision: Decision, atMs: number): AttemptRecord {
  if (decision.outcome === "node") {
    const { found, node } = decision;
    return {
      ...{ atMs, attempt, nodeCount: found.evaluated, evaluated: found.evaluated },
      feasible: found.feasible.length,
      rejections: Object.fromEntries(found.rejections),
      reasons: reasonsOf(found.verdicts.values()),
      outcome: { kind: "node", node: node.name, scores: scoresOf(decision) },
    };
  }
  const { diagnosis, rejections, message, nomination } = decision;
  return {
    ...{ atMs, attempt, nodeCount: diagnosis.nodeCount, evaluated: diagnosis.verdicts.size },
    feasible: 0,
    rejections: Object.fromEntries(rejections),
    reasons: reasonsOf(diagnosis.verdicts.values()),
    outcome: {
      kind: "none",
      message,
      nominatedNode: nomination?.nominatedNode,
      victims: nomination?.victims ?? [],
      nearestMiss: nearestMiss(info, diagnosis.verdicts),
    },
  };
}

function reasonsOf(
  verdicts: Iterable<{ readonly reasons: readonly string[] }>,
): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { reasons } of verdicts) {
    for (const reason of reasons) counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}

/** The winner and the nodes that came next. */
function scoresOf(decision: Decision & { outcome: "node" }): readonly NodeScore[] {
  const { scored, node } = decision;
  if (scored === undefined) return [];
  const { nodes, totals } = scored;
  const winner = nodes.indexOf(node);
  const others: number[] = [];
  for (let i = 0; i < nodes.length; i++) {
    if (i === winner) continue;
    const last = others.at(-1);
    if (others.length === RUNNERS_UP && totals[i]! <= totals[last!]!) continue;
    let rank = others.length;
    while (rank > 0 && totals[others[rank - 1]!]! < totals[i]!) rank -= 1;
    others.splice(rank, 0, i);
    if (others.length > RUNNERS_UP) others.pop();
  }
  return [winner, ...others].map((index) => ({
    node: scored.nodes[index]!.name,
    total: scored.totals[index]!,
    byPlugin: Object.fromEntries(
      scored.byPlugin.map(({ plugin, weight, scores }) => [plugin, scores[index]! * weight]),
    ),
  }));
}

/** The node that lacks the smallest share of what the pod asks for. */
function nearestMiss(
  info: PodInfo,
  verdicts: ReadonlyMap<NodeInfo, Rejected>,
): NearestMiss | undefined {
  let nearest: NodeInfo | undefined;
  let smallest = Number.POSITIVE_INFINITY;
  for (const [node, { reasons }] of verdicts) {
    const distance = distanceTo(info, node, reasons);
    if (distance === 0 || distance >= smallest) continue;
    smallest = distance;
    nearest = node;
  }
  if (nearest === undefined) return undefined;
  const { reasons } = verdicts.get(nearest)!;
  return {
    node: nearest.name,
    shortages: shortagesOf(info, nearest)
      .filter(({ resource, capacity }) => !mayBeOffered(resource, capacity, reasons))
      .map(({ resource, requested, used, capacity }) => ({
        ...{ resource, requested, capacity },
        free: capacity - used,
      })),
  };
}

/** Devices may stand for an extended resource of which the node has none and no filter says so. */
function mayBeOffered(resource: string, capacity: number, reasons: readonly string[]): boolean {
  if (capacity > 0 || !mayBeDevices(resource)) return false;
  return !reasons.includes(`Insufficient ${resource}`);
}

/** The sum of the missing shares; 0 if nothing is missing. */
function distanceTo({ requests }: PodInfo, node: NodeInfo, reasons: readonly string[]): number {
  const { allocatable, requested } = node;
  let distance = node.pods.size + 1 > node.allowedPods ? 1 : 0;
  distance += missing(requests.milliCpu, allocatable.milliCpu - requested.milliCpu);
  distance += missing(requests.memory, allocatable.memory - requested.memory);
  const storage = allocatable.ephemeralStorage - requested.ephemeralStorage;
  distance += missing(requests.ephemeralStorage, storage);
  for (const [name, amount] of requests.scalars ?? []) {
    const capacity = allocatable.scalars?.get(name) ?? 0;
    if (mayBeOffered(name, capacity, reasons)) continue;
    distance += missing(amount, capacity - (requested.scalars?.get(name) ?? 0));
  }
  return distance;
}

function missing(wanted: number, free: number): number {
  return wanted > free && wanted > 0 ? (wanted - free) / wanted : 0;
}
