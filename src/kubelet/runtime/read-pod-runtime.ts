/** Reads what the runtime has of a pod. */
import { NAMESPACE_MODE } from "#kubelet/cri/common-messages.ts";
import { CONTAINER_STATE, type CriContainerStatus } from "#kubelet/cri/container-messages.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import { type PodSandboxStatus, SANDBOX_STATE } from "#kubelet/cri/sandbox-messages.ts";
import type {
  ContainerRun,
  PodRuntime,
  RunState,
  SandboxState,
} from "#kubelet/decide/pod-runtime.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import { CONTAINER_HASH, CONTAINER_NAME, POD_UID, RESTART_COUNT } from "./labels.ts";
import type { TerminationMessages } from "./termination-message.ts";

/** What can be asked of the runtime here. */
export type RuntimeReader = Pick<
  RuntimeService,
  "listPodSandbox" | "listContainers" | "podSandboxStatus" | "containerStatus"
>;

/** Ids of what the runtime has of a pod. */
export interface KnownRuns {
  readonly sandboxIds: readonly string[];
  readonly containers: readonly { readonly id: string; readonly sandboxId: string }[];
}

/** Finds the pod's sandboxes and containers by their labels. */
export async function findPodRuns(
  runtime: RuntimeReader,
  uid: string,
  signal?: AbortSignal,
): Promise<KnownRuns> {
  const labelSelector = { [POD_UID]: uid };
  const [{ items }, { containers }] = await Promise.all([
    runtime.listPodSandbox({ filter: { labelSelector } }, { signal }),
    runtime.listContainers({ filter: { labelSelector } }, { signal }),
  ]);
  return {
    sandboxIds: items.map(({ id }) => id),
    containers: containers.map(({ id, podSandboxId: sandboxId }) => ({ id, sandboxId })),
  };
}

/** Those that are gone by now are left out. */
export async function readPodRuntime(
  runtime: RuntimeReader,
  { sandboxIds, containers }: KnownRuns,
  messages: TerminationMessages,
  signal?: AbortSignal,
): Promise<PodRuntime> {
  const [sandboxes, runs] = await Promise.all([
    Promise.all(
      sandboxIds.map(async (id) => {
        const answer = await unlessGone(runtime.podSandboxStatus({ podSandboxId: id }, { signal }));
        return answer?.status === undefined ? undefined : sandboxState(answer.status);
      }),
    ),
    Promise.all(
      containers.map(async ({ id, sandboxId }) => {
        const answer = await unlessGone(runtime.containerStatus({ containerId: id }, { signal }));
        if (answer?.status === undefined) return undefined;
        return containerRun(answer.status, sandboxId, messages);
      }),
    ),
  ]);
  return {
    sandboxes: sandboxes.filter((one) => one !== undefined).sort(newestFirst),
    runs: runs.filter((one) => one !== undefined).sort(newestFirst),
  };
}

/** Undefined when it was removed meanwhile. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof GrpcError && error.code === GRPC_CODES.NOT_FOUND) return undefined;
    throw error;
  }
}

function sandboxState(status: PodSandboxStatus): SandboxState {
  const { id, metadata, state, createdAt, network, linux } = status;
  const first = network?.ip ?? "";
  const more = network?.additionalIps.map(({ ip }) => ip) ?? [];
  return {
    id,
    isReady: state === SANDBOX_STATE.READY,
    attempt: metadata?.attempt ?? 0,
    createdMs: toMs(createdAt),
    usesHostNetwork: linux?.namespaces?.options?.network === NAMESPACE_MODE.NODE,
    ips: [first, ...more].filter((ip) => ip !== ""),
  };
}

const STATES: readonly RunState[] = ["created", "running", "exited", "unknown"];

async function containerRun(
  status: CriContainerStatus,
  sandboxId: string,
  messages: TerminationMessages,
): Promise<ContainerRun> {
  const { labels, annotations, metadata, state, image, imageRef, imageId, user } = status;
  const linux = user?.linux;
  const hasEnded = state === CONTAINER_STATE.EXITED;
  return {
    id: status.id,
    sandboxId,
    name: labels[CONTAINER_NAME] ?? metadata?.name ?? "",
    state: STATES[state] ?? "unknown",
    createdMs: toMs(status.createdAt),
    startedMs: toMs(status.startedAt),
    finishedMs: toMs(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: hasEnded ? await messages.read(status) : "",
    image: image?.userSpecifiedImage || image?.image || "",
    imageId: imageRef !== "" ? imageRef : imageId,
    restartCount: Number(annotations[RESTART_COUNT] ?? metadata?.attempt ?? 0),
    hash: annotations[CONTAINER_HASH] ?? "",
    ...(linux === undefined
      ? {}
      : { user: { uid: linux.uid, gid: linux.gid, supplementalGroups: linux.supplementalGroups } }),
  };
}

/** The states of CRI by the ids of sandboxes and containers. */
export function statesOf({ sandboxes, runs }: PodRuntime): ReadonlyMap<string, number> {
  const { READY, NOTREADY } = SANDBOX_STATE;
  return new Map([
    ...sandboxes.map(({ id, isReady }) => [id, isReady ? READY : NOTREADY] as const),
    ...runs.map(({ id, state }) => [id, STATES.indexOf(state)] as const),
  ]);
}

function newestFirst(a: { createdMs: number }, b: { createdMs: number }): number {
  return b.createdMs - a.createdMs;
}

function toMs(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000n);
}
