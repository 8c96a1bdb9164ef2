/** Which container's log is meant: the running one, the last one that ended, or the one before. Pure. */
import type { ContainerStatus, Pod } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";

export type LogContainer =
  /** `containerd://…` without the scheme. */
  | { readonly ok: true; readonly containerId: string }
  | { readonly ok: false; readonly message: string };

export function logContainer(pod: Pod, container: string, previous: boolean): LogContainer {
  const where = `container ${goQuote(container)} in pod ${goQuote(pod.metadata.name ?? "")}`;
  const status = statusOf(pod, container);
  if (status === undefined) return { ok: false, message: `${where} is not available` };
  const ended = status.lastState?.terminated;
  const endedId = ended?.containerID ?? "";
  if (previous) {
    return endedId === ""
      ? { ok: false, message: `previous terminated ${where} not found` }
      : found(endedId);
  }
  const { running, terminated, waiting } = status.state ?? {};
  if (running !== undefined) return found(status.containerID ?? "");
  if (terminated !== undefined || ended !== undefined) {
    const id = terminated?.containerID || endedId;
    return id === "" ? { ok: false, message: `${where} is terminated` } : found(id);
  }
  if (waiting === undefined) {
    return { ok: false, message: `${where} is waiting to start - no logs yet` };
  }
  return {
    ok: false,
    message: `${where} is waiting to start: ${waitingText(waiting.reason ?? "")}`,
  };
}

/** Whether the pod's spec has a container of that name. */
export function hasContainer({ spec }: Pod, name: string): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec ?? {};
  const all = [...(containers ?? []), ...initContainers, ...ephemeralContainers];
  return all.some((container) => container.name === name);
}

export function statusOf({ status }: Pod, container: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = status ?? {};
  const { ephemeralContainerStatuses = [] } = status ?? {};
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    ({ name }) => name === container,
  );
}

function found(containerId: string): LogContainer {
  return { ok: true, containerId: containerId.replace(/^[^:]+:\/\//, "") };
}

function waitingText(reason: string): string {
  if (reason === "ErrImagePull") return "image can't be pulled";
  return reason === "ImagePullBackOff" ? "trying and failing to pull image" : reason;
}
