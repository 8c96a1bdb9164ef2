/** The phase of a pod, from the statuses of its containers. */
import type { Container, ContainerStatus, Pod } from "#api/generated/core.v1.ts";
import { isSidecar, restartsAfter } from "./restart.ts";

export type Phase = "Pending" | "Running" | "Succeeded" | "Failed";

export interface PhaseInputs {
  readonly pod: Pod;
  readonly statuses: ReadonlyMap<string, ContainerStatus>;
  /** Nothing of it will be started again, whatever its policy says. */
  readonly isTerminal: boolean;
  /** A regular container is running or was created. */
  readonly regularIsAlive: boolean;
  /** Pods from a file never reach a final phase by being ended. */
  readonly isStatic: boolean;
}

export function decidePhase(inputs: PhaseInputs): Phase {
  const { pod, statuses, isTerminal, regularIsAlive, isStatic } = inputs;
  const init = countInit(pod, statuses);
  if (init.failed) return "Failed";
  const count = countOthers(pod, statuses);
  const isInitializing = init.pending || (count.sidecarPending && !regularIsAlive);
  if (isInitializing || count.waiting > 0) return "Pending";
  if (count.running > 0) return count.unknown === 0 ? "Running" : "Pending";
  if (count.stopped === 0 || count.unknown > 0) return "Pending";
  const ended: Phase = count.stopped === count.succeeded ? "Succeeded" : "Failed";
  if (isTerminal && !isStatic) return ended;
  return count.stopped === count.stoppedForGood ? ended : "Running";
}

/** The exit code of the run that ended last, if the container is not running. */
function endedWith({ state, lastState }: ContainerStatus): number | undefined {
  if (state.running !== undefined) return undefined;
  return (state.terminated ?? lastState.terminated)?.exitCode;
}

function countInit(
  { spec }: Pod,
  statuses: PhaseInputs["statuses"],
): { readonly pending: boolean; readonly failed: boolean } {
  let pending = false;
  let failed = false;
  for (const container of spec.initContainers ?? []) {
    if (isSidecar(container)) continue;
    const status = statuses.get(container.name);
    const exitCode = status === undefined ? undefined : endedWith(status);
    if (exitCode === undefined) pending = true;
    else if (exitCode !== 0) {
      if (!restartsAfter(container, spec, exitCode)) failed = true;
    }
  }
  return { pending, failed };
}

interface Counts {
  readonly running: number;
  readonly waiting: number;
  readonly stopped: number;
  readonly stoppedForGood: number;
  readonly succeeded: number;
  readonly unknown: number;
  readonly sidecarPending: boolean;
}

function countOthers({ spec }: Pod, statuses: PhaseInputs["statuses"]): Counts {
  const counts = {
    running: 0,
    waiting: 0,
    stopped: 0,
    stoppedForGood: 0,
    succeeded: 0,
    unknown: 0,
  };
  let sidecarPending = false;
  for (const container of (spec.initContainers ?? []).filter(isSidecar)) {
    const status = statuses.get(container.name);
    if (status === undefined) counts.unknown += 1;
    else if (status.state.running !== undefined) {
      counts.running += 1;
      if (status.started !== true) sidecarPending = true;
    } else if (endedWith(status) === undefined) {
      sidecarPending = true;
      counts.waiting += 1;
    }
  }
  for (const container of spec.containers ?? []) addRegular(counts, container, spec, statuses);
  return { ...counts, sidecarPending };
}

function addRegular(
  counts: Record<Exclude<keyof Counts, "sidecarPending">, number>,
  container: Container,
  spec: Pod["spec"],
  statuses: PhaseInputs["statuses"],
): void {
  const status = statuses.get(container.name);
  if (status === undefined) {
    counts.unknown += 1;
    return;
  }
  if (status.state.running !== undefined) {
    counts.running += 1;
    return;
  }
  const exitCode = endedWith(status);
  if (exitCode === undefined) {
    counts.waiting += 1;
    return;
  }
  counts.stopped += 1;
  if (!restartsAfter(container, spec, exitCode)) counts.stoppedForGood += 1;
  if (exitCode === 0 && status.state.terminated !== undefined) counts.succeeded += 1;
}
