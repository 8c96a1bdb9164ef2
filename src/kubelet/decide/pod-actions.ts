/**
 * What to do next for a pod that should run: which sandbox, which containers to start and which to
 * kill. A function of the spec, of what the runtime has, and of the results of probes; carrying it
 * out is the worker's part.
 *
 * Init containers run one after the other; sidecars (restartable init containers) keep running and
 * let the next one go once they have started. Regular containers start together when all of them are
 * done. Ephemeral containers are started once and never again.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { containerHash } from "./container-hash.ts";
import { type ContainerRun, isAlive, latestRun, type PodRuntime } from "./pod-runtime.ts";
import { isSidecar, restartsAfter, restartsAfterKill, shouldStart } from "./restart.ts";
import { decideSandbox } from "./sandbox.ts";

export type KillReason =
  | "startup-probe"
  | "liveness-probe"
  | "definition"
  | "resize"
  | "unknown-state";

export interface Kill {
  readonly run: ContainerRun;
  readonly container: Container;
  readonly reason: KillReason;
  /** The message of the event. */
  readonly message: string;
}

export interface PodActions {
  /** Everything ends: no container is left that may run. Includes the sandbox. */
  readonly killPod: boolean;
  /** A new sandbox of this attempt, after everything old is gone. */
  readonly createSandbox: number | undefined;
  readonly sandboxId: string | undefined;
  readonly start: readonly Start[];
  readonly kill: readonly Kill[];
}

export interface Start {
  readonly kind: "init" | "regular" | "ephemeral";
  readonly container: Container;
}

export type ProbeOutcome = "success" | "failure";

/** The latest results by the id of a run; undefined before the first. */
export interface ProbeResults {
  liveness(id: string): ProbeOutcome | undefined;
  startup(id: string): ProbeOutcome | undefined;
}

/** `resizeRestarts`: containers whose resize needs a restart. */
export function decidePodActions(
  pod: Pod,
  runtime: PodRuntime,
  probes: ProbeResults,
  resizeRestarts: ReadonlySet<string> = NONE,
): PodActions {
  const sandbox = decideSandbox(pod, runtime);
  if (!sandbox.keep) return withNewSandbox(pod, runtime, sandbox.attempt);
  const start: Start[] = [];
  const kill: Kill[] = [];
  for (const container of pod.spec.ephemeralContainers ?? []) {
    if (latestRun(runtime, container.name) === undefined) {
      start.push({ kind: "ephemeral", container });
    }
  }
  const init = decideInit(pod, runtime, probes);
  const base = { createSandbox: undefined, sandboxId: sandbox.id };
  if (init.failed) return { ...base, killPod: true, start: [], kill: init.kill };
  const initStarts = init.start.map((container): Start => ({ kind: "init", container }));
  kill.push(...init.kill);
  if (!init.done) return { ...base, killPod: false, start: [...start, ...initStarts], kill };

  const regular = decideRegular(pod, runtime, probes, resizeRestarts);
  kill.push(...regular.kill);
  if (regular.kept === 0 && regular.start.length === 0) {
    return { ...base, killPod: true, start, kill };
  }
  const regularStarts = regular.start.map((container): Start => ({ kind: "regular", container }));
  return { ...base, killPod: false, start: [...start, ...initStarts, ...regularStarts], kill };
}

/** Whether the pod ever came to its regular containers. */
export function hasStartedRegular({ spec }: Pod, runtime: PodRuntime): boolean {
  return (spec.containers ?? []).some(({ name }) => latestRun(runtime, name) !== undefined);
}

function withNewSandbox(pod: Pod, runtime: PodRuntime, attempt: number): PodActions {
  const base = { sandboxId: undefined, kill: [], start: [] };
  const { spec } = pod;
  const mayRestart = spec.restartPolicy !== "Never";
  const hasRun = runtime.runs.length > 0;
  if (!mayRestart && attempt > 0 && hasRun) {
    return { ...base, killPod: true, createSandbox: undefined };
  }
  const toStart = (spec.containers ?? []).filter((container) => {
    const policy = container.restartPolicy ?? spec.restartPolicy;
    const run = latestRun(runtime, container.name);
    return !(policy === "OnFailure" && run?.state === "exited" && run.exitCode === 0);
  });
  if (toStart.length === 0 && hasStartedRegular(pod, runtime)) {
    return { ...base, killPod: true, createSandbox: undefined };
  }
  const [firstInit] = spec.initContainers ?? [];
  const start: Start[] =
    firstInit === undefined
      ? toStart.map((container) => ({ kind: "regular", container }))
      : [{ kind: "init", container: firstInit }];
  return { sandboxId: undefined, kill: [], start, killPod: true, createSandbox: attempt };
}

interface InitDecision {
  readonly done: boolean;
  readonly failed: boolean;
  readonly start: readonly Container[];
  readonly kill: readonly Kill[];
}

/**
 * Looks from the last init container back: those that are done may have been removed, so the last
 * known one shows the progress of the pod.
 */
function decideInit(pod: Pod, runtime: PodRuntime, probes: ProbeResults): InitDecision {
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return { done: true, failed: false, start: [], kill: [] };
  const regularIsAlive = (pod.spec.containers ?? []).some(({ name }) => {
    const run = latestRun(runtime, name);
    return run !== undefined && isAlive(run);
  });
  let done = regularIsAlive;
  let laterIsKnown = regularIsAlive;
  const start: Container[] = [];
  const kill: Kill[] = [];
  for (let i = containers.length - 1; i >= 0; i--) {
    const container = containers[i]!;
    const run = latestRun(runtime, container.name);
    if (run === undefined) {
      if (laterIsKnown && isSidecar(container)) start.push(container);
      continue;
    }
    if (laterIsKnown && !isSidecar(container)) continue;
    const step = decideInitStep(pod, container, run, probes);
    if (step.failed) return { done: false, failed: true, start: [], kill: step.kill };
    kill.push(...step.kill);
    if (step.done) {
      if (i === containers.length - 1) done = true;
      else if (!laterIsKnown) start.push(containers[i + 1]!);
    }
    if (step.restart) start.push(container);
    laterIsKnown = true;
  }
  if (!laterIsKnown) start.push(containers[0]!);
  return { done, failed: false, start: start.reverse(), kill };
}

interface InitStep {
  readonly done?: boolean;
  readonly failed?: boolean;
  readonly restart?: boolean;
  readonly kill: readonly Kill[];
}

function decideInitStep(
  pod: Pod,
  container: Container,
  run: ContainerRun,
  probes: ProbeResults,
): InitStep {
  switch (run.state) {
    case "created": // the runtime failed to start it
      return { restart: true, kill: [] };
    case "running":
      return isSidecar(container) ? decideSidecar(container, run, probes) : { kill: [] };
    case "exited":
      if (isSidecar(container)) return { restart: true, kill: [] };
      if (run.exitCode === 0 && run.reason !== "OOMKilled") return { done: true, kill: [] };
      return restartsAfter(container, pod.spec, run.exitCode)
        ? { restart: true, kill: [] }
        : { failed: true, kill: [] };
    case "unknown": {
      if (!isSidecar(container) && !restartsAfterKill(container, pod.spec)) {
        return { failed: true, kill: [] };
      }
      const message = `Init container is in "unknown" state, try killing it before restart`;
      return { restart: true, kill: [{ run, container, reason: "unknown-state", message }] };
    }
  }
}

function decideSidecar(container: Container, run: ContainerRun, probes: ProbeResults): InitStep {
  const kill = (reason: KillReason, why: string): InitStep["kill"] => [
    { run, container, reason, message: `Init container ${container.name} ${why}` },
  ];
  if (container.startupProbe !== undefined) {
    const startup = probes.startup(run.id);
    if (startup === undefined) return { kill: [] };
    if (startup === "failure") {
      return { restart: true, kill: kill("startup-probe", "failed startup probe") };
    }
  }
  if (run.hash !== containerHash(container)) {
    return { done: true, restart: true, kill: kill("definition", "definition changed") };
  }
  if (probes.liveness(run.id) === "failure") {
    return { done: true, restart: true, kill: kill("liveness-probe", "failed liveness probe") };
  }
  return { done: true, kill: [] };
}

interface RegularDecision {
  readonly kept: number;
  readonly start: readonly Container[];
  readonly kill: readonly Kill[];
}

const NONE: ReadonlySet<string> = new Set();

function decideRegular(
  pod: Pod,
  runtime: PodRuntime,
  probes: ProbeResults,
  resizeRestarts: ReadonlySet<string>,
): RegularDecision {
  let kept = 0;
  const start: Container[] = [];
  const kill: Kill[] = [];
  for (const container of pod.spec.containers ?? []) {
    const run = latestRun(runtime, container.name);
    if (run?.state !== "running") {
      if (!shouldStart(container, pod, runtime)) continue;
      start.push(container);
      if (run?.state !== "unknown") continue;
      const message = `Container is in "unknown" state, try killing it before restart`;
      kill.push({ run, container, reason: "unknown-state", message });
      continue;
    }
    const why = whyKill(container, run, probes);
    if (why === undefined && resizeRestarts.has(container.name)) {
      start.push(container);
      const message = `Container ${container.name} resize requires restart`;
      kill.push({ run, container, reason: "resize", message });
      continue;
    }
    if (why === undefined) {
      kept += 1;
      continue;
    }
    const restart = why.reason === "definition" || restartsAfterKill(container, pod.spec);
    if (restart) start.push(container);
    const message = restart ? `${why.message}, will be restarted` : why.message;
    kill.push({ run, container, reason: why.reason, message });
  }
  return { kept, start, kill };
}

function whyKill(
  container: Container,
  run: ContainerRun,
  probes: ProbeResults,
): { reason: KillReason; message: string } | undefined {
  const { name } = container;
  if (run.hash !== containerHash(container)) {
    return { reason: "definition", message: `Container ${name} definition changed` };
  }
  if (probes.liveness(run.id) === "failure") {
    return { reason: "liveness-probe", message: `Container ${name} failed liveness probe` };
  }
  if (probes.startup(run.id) === "failure") {
    return { reason: "startup-probe", message: `Container ${name} failed startup probe` };
  }
  return undefined;
}
