/**
 * What a simulated node knows of a pod beyond its object: the containers that "run". Everything but
 * fractions of a second can be read back from the pod's status, so that a simulation that starts
 * again goes on with what runs.
 */
import type { Container, ContainerStatus, Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { containerHash } from "#kubelet/decide/container-hash.ts";
import type { BackoffEntry } from "#kubelet/decide/crash-backoff.ts";
import { withTag } from "#kubelet/decide/inputs/image-name.ts";
import type { ContainerRun, PodRuntime, SandboxState } from "#kubelet/decide/pod-runtime.ts";

export interface PodState extends PodRuntime {
  /** When the node first saw the pod. */
  readonly seenMs: number;
  /** When the node first saw the pod's deletion. */
  readonly deletedMs: number | undefined;
  readonly crashes: ReadonlyMap<string, BackoffEntry>;
}

const CRASH_BASE_MS = 10_000;
const CRASH_CAP_MS = 300_000;

export function restoredState(pod: Pod, nowMs: number): PodState {
  const { containerStatuses = [], initContainerStatuses = [], startTime } = pod.status;
  const statuses = [...initContainerStatuses, ...containerStatuses];
  const runs = statuses.flatMap((status) => runsOf(pod, status));
  const crashes = new Map(
    statuses
      .filter(({ restartCount }) => restartCount > 0)
      .map((status) => [status.name, crashOf(status)] as const),
  );
  const ips = (pod.status.podIPs ?? []).map(({ ip = "" }) => ip);
  const seenMs = startTime ? timeToMs(startTime) : nowMs;
  return {
    seenMs,
    deletedMs: undefined,
    sandboxes: ips.length > 0 ? [sandboxOf(pod, ips, seenMs)] : [],
    runs,
    crashes,
  };
}

export function sandboxOf(pod: Pod, ips: readonly string[], createdMs: number): SandboxState {
  const usesHostNetwork = pod.spec.hostNetwork === true;
  return {
    ...{ id: containerId(pod, "", 0), isReady: true, attempt: 0, createdMs },
    ...{ usesHostNetwork, ips },
  };
}

export function newRun(
  pod: Pod,
  container: Pick<Container, "name" | "image">,
  restartCount: number,
  startedMs: number,
): ContainerRun {
  const { name } = container;
  const image = withTag(container.image ?? "");
  return {
    id: containerId(pod, name, restartCount),
    sandboxId: containerId(pod, "", 0),
    ...{ name, state: "running", createdMs: startedMs, startedMs, finishedMs: 0 },
    ...{ exitCode: 0, reason: "", message: "", image, imageId: imageId(image) },
    ...{ restartCount, hash: containerHash(container) },
  };
}

function runsOf(pod: Pod, status: ContainerStatus): ContainerRun[] {
  const { name, image, restartCount } = status;
  const spec = [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])];
  const container = spec.find((one) => one.name === name) ?? { name, image };
  const { running, terminated } = status.state;
  if (running !== undefined) {
    const startedMs = running.startedAt ? timeToMs(running.startedAt) : 0;
    return [newRun(pod, container, restartCount, startedMs)];
  }
  const ended = terminated ?? status.lastState.terminated;
  if (ended === undefined) return [];
  const startedMs = ended.startedAt ? timeToMs(ended.startedAt) : 0;
  const finishedMs = ended.finishedAt ? timeToMs(ended.finishedAt) : 0;
  return [
    {
      ...newRun(pod, container, restartCount, startedMs),
      ...{ state: "exited", finishedMs, exitCode: ended.exitCode },
      ...{ reason: ended.reason ?? "", message: ended.message ?? "" },
    },
  ];
}

/** The back-off that so many restarts lead to. */
function crashOf({ restartCount, state, lastState }: ContainerStatus): BackoffEntry {
  const startedAt = state.running?.startedAt ?? lastState.terminated?.startedAt;
  return {
    delayMs: Math.min(CRASH_BASE_MS * 2 ** (restartCount - 1), CRASH_CAP_MS),
    atMs: startedAt ? timeToMs(startedAt) : 0,
  };
}

/** 64 hexadecimal digits that are the same whenever they are asked for. */
function containerId({ metadata }: Pod, name: string, restartCount: number): string {
  const uid = (metadata.uid ?? "").replaceAll("-", "").padEnd(32, "0").slice(0, 32);
  const hash = containerHash({ name }).padStart(8, "0");
  return `${uid}${hash}${restartCount.toString(16).padStart(24, "0")}`;
}

function imageId(image: string): string {
  return `sha256:${containerHash({ name: image }).padStart(8, "0").repeat(8)}`;
}
