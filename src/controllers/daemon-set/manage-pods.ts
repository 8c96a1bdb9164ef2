/** Which pods a DaemonSet lacks and which it has too many of, template changes left aside. */
import type { DaemonSet } from "#api/generated/apps.v1.ts";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import type { EventNote } from "#runtime/controller.ts";
import { isAvailable, isFinished, isReady } from "../shared/pods.ts";
import { type Failures, removableAtMs } from "./failures.ts";
import { placementOn, REVISION_LABEL } from "./placement.ts";

export interface World {
  readonly set: DaemonSet;
  readonly nodes: readonly Node[];
  /** By the node that they run on or are meant for; finished ones on their way out left aside. */
  readonly podsByNode: ReadonlyMap<string, readonly Pod[]>;
  /** Of the current template. */
  readonly hash: string;
  readonly allowsSurge: boolean;
  readonly failures: Failures;
  readonly nowMs: number;
}

export interface Changes {
  readonly createOn: readonly string[];
  readonly remove: readonly Pod[];
}

export interface ManagedPods extends Changes {
  readonly events: readonly EventNote[];
  readonly recheckAtMs: number;
}

export function managePods(world: World): ManagedPods {
  const perNode = world.nodes.map((node) => manageNode(node, world));
  const known = new Set(world.nodes.map(({ metadata }) => metadata.name));
  // The scheduler can never bind these, and no other controller deletes unscheduled pods.
  const lost = [...world.podsByNode].flatMap(([name, pods]) =>
    known.has(name) ? [] : pods.filter(({ spec }) => (spec.nodeName ?? "") === ""),
  );
  return {
    createOn: perNode.flatMap(({ createOn }) => createOn),
    remove: [...perNode.flatMap(({ remove }) => remove), ...lost],
    events: perNode.flatMap(({ events }) => events),
    recheckAtMs: perNode.reduce((soonest, u) => Math.min(soonest, u.recheckAtMs), Infinity),
  };
}

/** The oldest first; scheduled ones before those that are not. */
export function bySeniority(a: Pod, b: Pod): number {
  const isBound = ({ spec }: Pod): number => Number((spec.nodeName ?? "") !== "");
  const created = ({ metadata }: Pod): number => timeToMs(metadata.creationTimestamp ?? "");
  return isBound(b) - isBound(a) || created(a) - created(b);
}

const NOTHING: ManagedPods = { createOn: [], remove: [], events: [], recheckAtMs: Infinity };

function manageNode(node: Node, world: World): ManagedPods {
  const name = node.metadata.name ?? "";
  const pods = world.podsByNode.get(name);
  const { starts, stays } = placementOn(node, world.set);
  if (pods === undefined) return starts ? { ...NOTHING, createOn: [name] } : NOTHING;
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (!stays) return { ...NOTHING, remove: staying };
  const ended = staying.filter(isFinished).map((pod) => endedPod(pod, name, world));
  const running = staying.filter((pod) => !isFinished(pod)).sort(bySeniority);
  const surplus = world.allowsSurge ? surplusWhenSurging(running, world) : running.slice(1);
  return {
    createOn: world.allowsSurge && running.length === 0 && starts ? [name] : [],
    remove: [...ended.flatMap(({ remove }) => remove), ...surplus],
    events: ended.flatMap(({ events }) => events),
    recheckAtMs: ended.reduce((soonest, u) => Math.min(soonest, u.recheckAtMs), Infinity),
  };
}

function endedPod(pod: Pod, nodeName: string, world: World): ManagedPods {
  const { set, nowMs } = world;
  const { namespace, name } = pod.metadata;
  const where = `daemon pod ${namespace}/${name} on node ${nodeName}, will try to`;
  if (pod.status.phase === "Succeeded") {
    const message = `Found succeeded ${where} delete it`;
    const event = { about: set, type: "Normal", reason: "SucceededDaemonPod", message } as const;
    return { ...NOTHING, remove: [pod], events: [event] };
  }
  const atMs = removableAtMs(world.failures, nodeName, pod);
  if (nowMs < atMs) return { ...NOTHING, recheckAtMs: atMs };
  const message = `Found failed ${where} kill it`;
  const event = { about: set, type: "Warning", reason: "FailedDaemonPod", message } as const;
  return { ...NOTHING, remove: [pod], events: [event] };
}

/** An old pod stays beside a new one only while it is ready and the new one is not yet available. */
function surplusWhenSurging(running: readonly Pod[], { set, hash, nowMs }: World): readonly Pod[] {
  if (running.length <= 1) return [];
  const isNew = ({ metadata }: Pod): boolean => metadata.labels?.[REVISION_LABEL] === hash;
  const newest = running.find(isNew);
  const oldest = running.find((pod) => !isNew(pod));
  const rest = running.filter((pod) => pod !== newest && pod !== oldest);
  if (newest === undefined || oldest === undefined) return rest;
  const isReplaced = !isReady(oldest) || isAvailable(newest, set.spec.minReadySeconds ?? 0, nowMs);
  return isReplaced ? [...rest, oldest] : rest;
}
