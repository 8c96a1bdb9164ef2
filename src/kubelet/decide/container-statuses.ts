/** The statuses of a pod's containers for the API, from their runs and from what was reported before. */
import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  VolumeMountStatus,
} from "#api/generated/core.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { hasStartedRegular, type ProbeOutcome } from "./pod-actions.ts";
import { type ContainerRun, latestRun, type PodRuntime } from "./pod-runtime.ts";
import type { PodAllocation } from "./resize.ts";
import { isSidecar, shouldStart } from "./restart.ts";

/** Why a container is not running although it should: shown as the reason of its waiting. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
  /** When starting it is tried again (`elapsedMs`), if that is known. */
  readonly retryAtMs?: number | undefined;
}

export interface StatusInputs {
  readonly pod: Pod;
  readonly runtime: PodRuntime;
  /** Names of containers that could not be started. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly readiness: (id: string) => ProbeOutcome | undefined;
  readonly startup: (id: string) => ProbeOutcome | undefined;
  /** `containerd`, the scheme of container ids. */
  readonly runtimeName: string;
  /** What running containers were given, where that may differ from what they are allocated. */
  readonly actuated?: PodAllocation | undefined;
}

export type ContainerList = "init" | "regular" | "ephemeral";

type StatusDraft = { -readonly [Field in keyof ContainerStatus]: ContainerStatus[Field] };

export function decideContainerStatuses(
  list: ContainerList,
  containers: readonly Container[],
  previous: readonly ContainerStatus[],
  inputs: StatusInputs,
): ContainerStatus[] {
  const before = new Map(previous.map((status) => [status.name, status]));
  return containers.map((container) => {
    const status = statusOf(list, container, before.get(container.name), inputs);
    setWaiting(list, container, status, inputs);
    setReadiness(list, container, status, inputs);
    return status;
  });
}

function statusOf(
  list: ContainerList,
  container: Container,
  old: ContainerStatus | undefined,
  inputs: StatusInputs,
): StatusDraft {
  const { pod, runtime } = inputs;
  const runs = runtime.runs.filter(({ name }) => name === container.name);
  const [latest, before] = runs;
  const status = initialStatus(list, container, old, pod);
  if (latest === undefined) {
    if (old?.state.running !== undefined) markLost(status, pod);
    return status;
  }
  const { runtimeName } = inputs;
  const lastState =
    before === undefined ? (old?.lastState ?? {}) : stateOf(before, runtimeName, undefined);
  return {
    ...status,
    state: stateOf(latest, runtimeName, old),
    lastState: Object.keys(lastState).length > 0 ? lastState : status.lastState,
    restartCount: latest.restartCount,
    image: latest.image,
    imageID: latest.imageId,
    containerID: `${runtimeName}://${latest.id}`,
    ...(container.resources?.requests === undefined
      ? {}
      : { allocatedResources: container.resources.requests }),
    ...resourcesOf(container, latest, inputs),
    ...(latest.user === undefined ? {} : { user: { linux: latest.user } }),
  };
}

function resourcesOf(
  { name, resources }: Container,
  { state }: ContainerRun,
  { actuated }: StatusInputs,
): Pick<ContainerStatus, "resources"> {
  const has = state === "running" ? (actuated?.containers[name] ?? resources) : resources;
  return has === undefined ? {} : { resources: has };
}

/** Before the runtime knows anything of the container. */
function initialStatus(
  list: ContainerList,
  container: Container,
  old: ContainerStatus | undefined,
  { spec }: Pod,
): StatusDraft {
  if (old?.state.terminated !== undefined) return { ...old };
  const waitsForInit = list === "regular" && (spec.initContainers ?? []).length > 0;
  const mounts = (container.volumeMounts ?? []).map(mountStatusOf);
  return {
    name: container.name,
    state: {
      waiting: {
        reason: waitsForInit || list === "init" ? "PodInitializing" : "ContainerCreating",
      },
    },
    lastState: old?.lastState ?? {},
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? "",
    imageID: "",
    started: false,
    ...(mounts.length > 0 ? { volumeMounts: mounts } : {}),
  };
}

function mountStatusOf({
  name,
  mountPath,
  readOnly,
}: NonNullable<Container["volumeMounts"]>[number]): VolumeMountStatus {
  const state = readOnly ? { readOnly: true, recursiveReadOnly: "Disabled" as const } : {};
  return { name, mountPath, ...state };
}

/** A container that ran and is unknown to the runtime has terminated, with an unknown exit code. */
function markLost(status: StatusDraft, pod: Pod): void {
  if (status.lastState.terminated !== undefined) return;
  status.lastState = {
    terminated: {
      reason: "ContainerStatusUnknown",
      message:
        "The container could not be located when the pod was deleted.  The container used to be Running",
      exitCode: 137,
    },
  };
  if (pod.metadata.deletionTimestamp === undefined) status.restartCount += 1;
}

function stateOf(
  run: ContainerRun,
  runtimeName: string,
  old: ContainerStatus | undefined,
): ContainerState {
  switch (run.state) {
    case "running":
      return { running: { startedAt: timeFromMs(run.startedMs) } };
    case "created":
      return { waiting: { reason: "ContainerCreating" } };
    case "exited":
      return {
        terminated: {
          exitCode: run.exitCode,
          reason: run.reason !== "" ? run.reason : run.exitCode === 0 ? "Completed" : "Error",
          ...(run.message === "" ? {} : { message: run.message }),
          startedAt: run.startedMs > 0 ? timeFromMs(run.startedMs) : null,
          finishedAt: run.finishedMs > 0 ? timeFromMs(run.finishedMs) : null,
          containerID: `${runtimeName}://${run.id}`,
        },
      };
    case "unknown":
      if (old?.state.running !== undefined) {
        return {
          terminated: {
            reason: "ContainerStatusUnknown",
            message: "The container could not be located when the pod was terminated",
            exitCode: 137,
          },
        };
      }
      return { waiting: {} };
  }
}

/** A container that will be started again waits, if there is something to say about it. */
function setWaiting(
  list: ContainerList,
  container: Container,
  status: StatusDraft,
  { pod, runtime, waiting }: StatusInputs,
): void {
  const run = latestRun(runtime, container.name);
  if (list === "init") {
    if (run?.state === "exited" && run.exitCode === 0 && !isSidecar(container)) return;
    const isLost = run === undefined && status.state.waiting !== undefined;
    if (isLost && !isSidecar(container) && hasStartedRegular(pod, runtime)) {
      status.state = {
        terminated: {
          reason: "Completed",
          message:
            "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally",
          exitCode: 0,
        },
      };
      return;
    }
  }
  if (list === "ephemeral" && run !== undefined) return;
  if (!shouldStart(container, pod, runtime)) return;
  const why = waiting.get(container.name);
  if (why === undefined) return;
  if (status.state.terminated !== undefined) status.lastState = status.state;
  status.state = { waiting: { reason: why.reason, message: why.message } };
}

function setReadiness(
  list: ContainerList,
  container: Container,
  status: StatusDraft,
  { runtime, readiness, startup }: StatusInputs,
): void {
  const run = latestRun(runtime, container.name);
  const isRunning = status.state.running !== undefined && run !== undefined;
  if (list === "ephemeral") {
    status.ready = false;
    delete status.started;
    return;
  }
  const started =
    isRunning && (container.startupProbe === undefined || startup(run.id) === "success");
  status.started = started;
  if (list === "init" && !isSidecar(container)) {
    status.ready = status.state.terminated?.exitCode === 0;
    return;
  }
  status.ready =
    started && (container.readinessProbe === undefined || readiness(run!.id) === "success");
}
