/** The conditions that the kubelet owns: what each says, and since when. */
import type { ContainerStatus, Pod, PodCondition } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Phase } from "./pod-phase.ts";
import type { PodRuntime } from "./pod-runtime.ts";
import { isSidecar } from "./restart.ts";
import { decideSandbox } from "./sandbox.ts";

const KUBELET_CONDITIONS: ReadonlySet<string> = new Set([
  "PodReadyToStartContainers",
  "Initialized",
  "Ready",
  "ContainersReady",
  "PodScheduled",
  "PodResizePending",
  "PodResizeInProgress",
  "AllContainersRestarting",
]);

const DISRUPTION = "DisruptionTarget";

export interface ConditionInputs {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  readonly statuses: ReadonlyMap<string, ContainerStatus>;
  readonly phase: Phase;
  /** Those that were reported last: a condition that stays keeps its time. */
  readonly previous: readonly PodCondition[];
  readonly nowMs: number;
  readonly disruption?: { readonly reason: string; readonly message: string } | undefined;
  /** PodResizePending and PodResizeInProgress, while they are true. */
  readonly resize?: readonly ConditionSays[] | undefined;
}

/** What a condition says; since when is worked out. */
export type ConditionSays = Pick<PodCondition, "type" | "status"> & {
  readonly reason?: string;
  readonly message?: string;
};
type Says = ConditionSays;

/** Conditions of others are kept as they are. */
export function decideConditions(inputs: ConditionInputs): PodCondition[] {
  const { pod, runtime, statuses, phase, previous } = inputs;
  const foreign = (pod.status.conditions ?? []).filter(({ type }) => !KUBELET_CONDITIONS.has(type));
  const kept = previous.filter(
    ({ type }) => type === DISRUPTION && foreign.every((one) => one.type !== type),
  );
  const containersReady = whetherContainersReady(pod, statuses, phase);
  const own: Says[] = [
    {
      type: "PodReadyToStartContainers",
      status: decideSandbox(pod, runtime).keep ? "True" : "False",
    },
    whetherInitialized(pod, statuses, phase),
    whetherReady(pod, containersReady, [...foreign, ...kept]),
    containersReady,
    { type: "PodScheduled", status: "True" },
    ...(inputs.resize ?? []),
  ];
  const { disruption } = inputs;
  if (disruption !== undefined && ![...foreign, ...kept].some((one) => one.type === DISRUPTION)) {
    own.push({ type: DISRUPTION, status: "True", ...disruption });
  }
  return [...foreign, ...kept, ...own.map((says) => withTimes(says, inputs))];
}

function withTimes(says: Says, { pod, previous, nowMs }: ConditionInputs): PodCondition {
  const old = previous.find(({ type }) => type === says.type);
  const isSame = old !== undefined && old.status === says.status;
  const { generation } = pod.metadata;
  return {
    type: says.type,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    status: says.status,
    lastProbeTime: null,
    lastTransitionTime: (isSame ? old.lastTransitionTime : undefined) ?? timeFromMs(nowMs),
    ...(says.reason === undefined ? {} : { reason: says.reason }),
    ...(says.message === undefined ? {} : { message: says.message }),
  };
}

function whetherContainersReady(
  { spec }: Pod,
  statuses: ConditionInputs["statuses"],
  phase: Phase,
): Says {
  const type = "ContainersReady";
  const counted = [...(spec.initContainers ?? []).filter(isSidecar), ...(spec.containers ?? [])];
  const unknown = counted.filter(({ name }) => !statuses.has(name)).map(({ name }) => name);
  const unready = counted
    .filter(({ name }) => statuses.get(name)?.ready === false)
    .map(({ name }) => name);
  if (phase === "Succeeded" && unknown.length === 0) {
    return { type, status: "False", reason: "PodCompleted" };
  }
  if (phase === "Failed") return { type, status: "False", reason: "PodFailed" };
  const message = messageOf(unknown, unready, "unready");
  if (message === "") return { type, status: "True" };
  return { type, status: "False", reason: "ContainersNotReady", message };
}

function whetherReady({ spec }: Pod, containersReady: Says, others: readonly PodCondition[]): Says {
  if (containersReady.status !== "True") return { ...containersReady, type: "Ready" };
  const messages = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = others.find(({ type }) => type === conditionType);
    const name = goQuote(conditionType);
    if (gate === undefined) {
      return [`corresponding condition of pod readiness gate ${name} does not exist.`];
    }
    if (gate.status === "True") return [];
    return [`the status of pod readiness gate ${name} is not "True", but ${gate.status}`];
  });
  if (messages.length === 0) return { type: "Ready", status: "True" };
  const message = messages.join(", ");
  return { type: "Ready", status: "False", reason: "ReadinessGatesNotReady", message };
}

function whetherInitialized(
  { spec }: Pod,
  statuses: ConditionInputs["statuses"],
  phase: Phase,
): Says {
  const type = "Initialized";
  const init = spec.initContainers ?? [];
  const unknown = init.filter(({ name }) => !statuses.has(name)).map(({ name }) => name);
  const incomplete = init
    .filter((container) => {
      const status = statuses.get(container.name);
      if (status === undefined) return false;
      return isSidecar(container) ? status.started !== true : !status.ready;
    })
    .map(({ name }) => name);
  if (phase === "Succeeded" && unknown.length === 0) {
    return { type, status: "True", reason: "PodCompleted" };
  }
  const hasStarted = (spec.containers ?? []).some(({ name }) => {
    const status = statuses.get(name);
    if (status === undefined) return false;
    return (
      status.started === true ||
      status.state.running !== undefined ||
      status.state.terminated !== undefined ||
      status.lastState.terminated !== undefined
    );
  });
  if (hasStarted) return { type, status: "True" };
  const message = messageOf(unknown, incomplete, "incomplete");
  if (message === "") return { type, status: "True" };
  return { type, status: "False", reason: "ContainersNotInitialized", message };
}

function messageOf(unknown: readonly string[], lacking: readonly string[], what: string): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: [${unknown.join(" ")}]`);
  if (lacking.length > 0) parts.push(`containers with ${what} status: [${lacking.join(" ")}]`);
  return parts.join(", ");
}
