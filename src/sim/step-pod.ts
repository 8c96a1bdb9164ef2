/**
 * One step of a simulated pod: a function of the pod, of its state, of its behaviour and of the time.
 * The kubelet's own decisions say which containers start and what the status is; only what the
 * containers do is made up here.
 */
import type { Pod, PodStatus } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import type { WaitingReason } from "#kubelet/decide/container-statuses.ts";
import { decideBackoff } from "#kubelet/decide/crash-backoff.ts";
import { decidePodActions, type ProbeOutcome, type Start } from "#kubelet/decide/pod-actions.ts";
import { type ContainerRun, latestRun } from "#kubelet/decide/pod-runtime.ts";
import { decidePodStatus, type EndedPod } from "#kubelet/decide/pod-status.ts";
import type { Behaviour } from "./behaviour.ts";
import { newRun, type PodState, sandboxOf } from "./pod-state.ts";

const RUNTIME_NAME = "simulated";

export interface StepInputs {
  readonly pod: Pod;
  readonly state: PodState;
  readonly behaviour: Behaviour;
  readonly hostIps: readonly string[];
  /** The addresses that the pod has, or will have. */
  readonly podIps: readonly string[];
  readonly nowMs: number;
}

export interface Step {
  readonly state: PodState;
  readonly status: PodStatus;
  /** When something happens next without a change of the pod. */
  readonly wakeAtMs: number | undefined;
  /** Everything has ended and the pod is deleted: its object can go. */
  readonly isGone: boolean;
}

/** Init containers and restarts within one step; more would be a loop. */
const ROUNDS_MAX = 100;
const DEADLINE_EXCEEDED: EndedPod = {
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

export function stepPod(inputs: StepInputs): Step {
  const { pod, nowMs } = inputs;
  const { phase } = pod.status;
  if (pod.metadata.deletionTimestamp !== undefined) return deletionStep(inputs);
  if (phase === "Succeeded" || phase === "Failed") {
    return { state: inputs.state, status: pod.status, wakeAtMs: undefined, isGone: false };
  }
  const deadlineMs = deadlineOf(inputs);
  if (deadlineMs !== undefined && nowMs >= deadlineMs) {
    const state = endedState(inputs.state, nowMs, 137);
    const status = statusOf({ ...inputs, state }, new Map(), true, DEADLINE_EXCEEDED);
    return { state, status, wakeAtMs: undefined, isGone: false };
  }
  const { state, waiting, wakeAtMs } = runContainers(inputs);
  const status = statusOf({ ...inputs, state }, waiting, false, undefined);
  const isOver = status.phase === "Succeeded" || status.phase === "Failed";
  const readyAtMs = nextReadyMs(inputs, state);
  return {
    state: isOver ? { ...state, sandboxes: stopped(state.sandboxes) } : state,
    status,
    wakeAtMs: isOver ? undefined : earliest(earliest(wakeAtMs, readyAtMs), deadlineMs),
    isGone: false,
  };
}

/** Containers end after the stop delay, or are killed at the end of the grace period. */
function deletionStep(inputs: StepInputs): Step {
  const { pod, behaviour, nowMs } = inputs;
  const deletedMs = inputs.state.deletedMs ?? nowMs;
  const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  const endMs = deletedMs + Math.min(behaviour.stopDelayMs, graceMs);
  const isRunning = inputs.state.runs.some(({ state }) => state === "running");
  if (isRunning && nowMs < endMs) {
    const state = { ...inputs.state, deletedMs };
    const status = statusOf({ ...inputs, state }, new Map(), false, undefined);
    return { state, status, wakeAtMs: endMs, isGone: false };
  }
  const isKilled = behaviour.stopDelayMs > graceMs;
  const state = { ...endedState(inputs.state, nowMs, isKilled ? 137 : 0), deletedMs };
  const status = statusOf({ ...inputs, state }, new Map(), true, undefined);
  return { state, status, wakeAtMs: undefined, isGone: true };
}

interface Ran {
  readonly state: PodState;
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly wakeAtMs: number | undefined;
}

/** Ends what is due to end and starts what the kubelet would start, until nothing more happens now. */
function runContainers(inputs: StepInputs): Ran {
  const { pod, behaviour, podIps, nowMs } = inputs;
  let state = inputs.state;
  if (state.sandboxes.length === 0) {
    state = { ...state, sandboxes: [sandboxOf(pod, podIps, nowMs)] };
  }
  const waiting = new Map<string, WaitingReason>();
  const startMs = state.seenMs + behaviour.startDelayMs;
  if (nowMs < startMs && state.runs.length === 0) return { state, waiting, wakeAtMs: startMs };
  for (let round = 0; round < ROUNDS_MAX; round++) {
    state = { ...state, runs: state.runs.map((run) => endIfDue(inputs, run)) };
    const probes = {
      liveness: () => undefined,
      startup: (id: string) => startupOf({ ...inputs, state }, id),
    };
    const actions = decidePodActions(pod, state, probes);
    const started = startDue(pod, state, actions.start, waiting, nowMs);
    if (started === undefined) break;
    state = started;
  }
  const ends = state.runs.map((run) => endOf(inputs, run));
  const restarts = [...waiting.values()].map(({ retryAtMs }) => retryAtMs);
  return { state, waiting, wakeAtMs: [...ends, ...restarts].reduce(earliest, undefined) };
}

/** Undefined when nothing can be started now. */
function startDue(
  pod: Pod,
  state: PodState,
  starts: readonly Start[],
  waiting: Map<string, WaitingReason>,
  nowMs: number,
): PodState | undefined {
  let { runs, crashes } = state;
  waiting.clear();
  for (const { container } of starts) {
    const { name } = container;
    const last = latestRun(state, name);
    if (last?.state === "exited") {
      const decision = decideBackoff(crashes.get(name), last.finishedMs, nowMs);
      if (decision.wait) {
        waiting.set(name, backoffReason(pod, name, decision));
        continue;
      }
      crashes = new Map(crashes).set(name, decision.next);
    }
    const restarts = last === undefined ? 0 : last.restartCount + 1;
    const run = newRun(pod, container, restarts, nowMs);
    // Only the latest run and the one before it are shown anywhere.
    runs = [run, ...(last === undefined ? [] : [last]), ...runs.filter((r) => r.name !== name)];
  }
  return runs === state.runs ? undefined : { ...state, runs, crashes };
}

function backoffReason(
  { metadata }: Pod,
  name: string,
  { delayMs, untilMs }: { readonly delayMs: number; readonly untilMs: number },
): WaitingReason {
  const seconds = Math.round(delayMs / 1000);
  const delay = seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
  const podText = `${metadata.name}_${metadata.namespace}(${metadata.uid})`;
  const message = `back-off ${delay} restarting failed container=${name} pod=${podText}`;
  return { reason: "CrashLoopBackOff", message, retryAtMs: untilMs };
}

/** When a container ends by itself. */
function endOf({ pod, behaviour }: StepInputs, run: ContainerRun): number | undefined {
  if (run.state !== "running") return undefined;
  const init = pod.spec.initContainers?.find(({ name }) => name === run.name);
  if (init !== undefined) {
    return init.restartPolicy === "Always" ? undefined : run.startedMs + behaviour.initRunMs;
  }
  return behaviour.runMs === undefined ? undefined : run.startedMs + behaviour.runMs;
}

function endIfDue(inputs: StepInputs, run: ContainerRun): ContainerRun {
  const endMs = endOf(inputs, run);
  if (endMs === undefined || inputs.nowMs < endMs) return run;
  const isInit = inputs.pod.spec.initContainers?.some(({ name }) => name === run.name);
  const exitCode = isInit ? 0 : inputs.behaviour.exitCode;
  return { ...run, state: "exited", finishedMs: endMs, exitCode };
}

function endedState(state: PodState, nowMs: number, exitCode: number): PodState {
  const runs = state.runs.map((run): ContainerRun => {
    return run.state === "running" ? { ...run, state: "exited", finishedMs: nowMs, exitCode } : run;
  });
  return { ...state, runs, sandboxes: stopped(state.sandboxes) };
}

function stopped(sandboxes: PodState["sandboxes"]): PodState["sandboxes"] {
  return sandboxes.map((sandbox) => ({ ...sandbox, isReady: false }));
}

function statusOf(
  inputs: StepInputs,
  waiting: ReadonlyMap<string, WaitingReason>,
  isTerminal: boolean,
  ended: EndedPod | undefined,
): PodStatus {
  const { state, hostIps, nowMs } = inputs;
  return decidePodStatus({
    pod: withProbes(inputs),
    runtime: state,
    waiting,
    readiness: (id) => readinessOf(inputs, id),
    startup: (id) => startupOf(inputs, id),
    runtimeName: RUNTIME_NAME,
    previous: previousStatus(inputs),
    ...{ isTerminal, isStatic: false, ended, hostIps, nowMs },
  });
}

/** Pods in the host's network have addresses of their own: a loopback address would be no endpoint. */
function previousStatus({ pod: { spec, status }, podIps }: StepInputs): PodStatus {
  if (spec.hostNetwork !== true || status.podIPs !== undefined) return status;
  return { ...status, podIPs: podIps.map((ip) => ({ ip })) };
}

/** Containers without a readiness probe are always ready: a behaviour that says more counts as one. */
function withProbes({ pod, behaviour }: StepInputs): Pod {
  if (behaviour.ready && behaviour.readyDelayMs === 0) return pod;
  const containers = (pod.spec.containers ?? []).map((container) => ({
    readinessProbe: {},
    ...container,
  }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

function readinessOf(inputs: StepInputs, id: string): ProbeOutcome | undefined {
  const readyMs = readyAt(inputs, inputs.state, id);
  return readyMs !== undefined && inputs.nowMs >= readyMs ? "success" : "failure";
}

function startupOf(inputs: StepInputs, id: string): ProbeOutcome | undefined {
  const run = inputs.state.runs.find((one) => one.id === id);
  if (run === undefined) return undefined;
  const readyMs = run.startedMs + probeDelayMs(inputs.pod, run.name, "startupProbe");
  return inputs.nowMs >= readyMs ? "success" : undefined;
}

/** Undefined: never. */
function readyAt({ pod, behaviour }: StepInputs, state: PodState, id: string): number | undefined {
  const run = state.runs.find((one) => one.id === id);
  if (run?.state !== "running" || !behaviour.ready) return undefined;
  const probes = ["startupProbe", "readinessProbe"] as const;
  const delays = probes.map((probe) => probeDelayMs(pod, run.name, probe));
  return run.startedMs + Math.max(behaviour.readyDelayMs, ...delays);
}

function nextReadyMs(inputs: StepInputs, state: PodState): number | undefined {
  return state.runs
    .map(({ id }) => readyAt(inputs, state, id))
    .filter((atMs) => atMs !== undefined && atMs > inputs.nowMs)
    .reduce(earliest, undefined);
}

function probeDelayMs(
  { spec }: Pod,
  name: string,
  probe: "startupProbe" | "readinessProbe",
): number {
  const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
  const found = containers.find((container) => container.name === name)?.[probe];
  return (found?.initialDelaySeconds ?? 0) * 1000;
}

function deadlineOf({ pod, state }: StepInputs): number | undefined {
  const seconds = pod.spec.activeDeadlineSeconds;
  if (seconds === undefined) return undefined;
  const { startTime } = pod.status;
  return (startTime ? timeToMs(startTime) : state.seenMs) + seconds * 1000;
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b);
}
