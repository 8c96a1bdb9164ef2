/** What controllers ask of pods, and how one is made from a template. */
import type { ContainerStatus, Pod, PodTemplateSpec } from "#api/generated/core.v1.ts";
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { timeToMs } from "#api/meta/time.ts";

/** Neither finished nor on its way out. */
export function isActive({ metadata, status }: Pod): boolean {
  return !isFinished({ status }) && metadata.deletionTimestamp === undefined;
}

export function isFinished({ status }: Pick<Pod, "status">): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

/** On its way out, but its containers may still run. */
export function isTerminating({ metadata, status }: Pod): boolean {
  return !isFinished({ status }) && metadata.deletionTimestamp !== undefined;
}

export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === "True";
}

/** When a ready pod counts as available; undefined while it is not ready. */
export function availableAtMs(pod: Pod, minReadySeconds: number): number | undefined {
  const ready = readyCondition(pod);
  if (ready?.status !== "True") return undefined;
  if (minReadySeconds === 0) return Number.NEGATIVE_INFINITY;
  if (ready.lastTransitionTime === undefined || ready.lastTransitionTime === null) return undefined;
  return timeToMs(ready.lastTransitionTime) + minReadySeconds * 1000;
}

export function isAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const atMs = availableAtMs(pod, minReadySeconds);
  return atMs !== undefined && atMs <= nowMs;
}

export function readyCondition({
  status,
}: Pod): NonNullable<Pod["status"]["conditions"]>[number] | undefined {
  return status.conditions?.find(({ type }) => type === "Ready");
}

/** When a finished pod has ended, as far as its status shows. */
export function finishedAtMs(pod: Pod): number {
  const { creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
  const containersMs = containersFinishedAtMs(pod);
  if (containersMs !== undefined) return containersMs;
  const ready = readyCondition(pod);
  if (ready?.status === "False" && ready.lastTransitionTime)
    return timeToMs(ready.lastTransitionTime);
  if (deletionTimestamp !== undefined)
    return timeToMs(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  return creationTimestamp === undefined ? 0 : timeToMs(creationTimestamp);
}

/** When the last container ended, sidecars included; undefined while one has not. */
function containersFinishedAtMs({ spec, status }: Pod): number | undefined {
  const sidecars = new Set(
    spec.initContainers?.filter((c) => c.restartPolicy === "Always").map(({ name }) => name),
  );
  const statuses: readonly ContainerStatus[] = [
    ...(status.containerStatuses ?? []),
    ...(status.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ];
  const times = statuses.map(({ state }) => state.terminated?.finishedAt ?? undefined);
  if (times.length === 0 || times.some((time) => time === undefined)) return undefined;
  return Math.max(...times.map((time) => timeToMs(time!)));
}

/** A pod as its template says, with a name that the server makes up. */
export function podFromTemplate(
  template: PodTemplateSpec,
  owner: KubeObject,
  reference: OwnerReference,
): Pod {
  const { labels, annotations, finalizers } = template.metadata;
  const { namespace, name } = owner.metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: `${name}-`,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [reference],
    },
    spec: template.spec,
    status: {},
  };
}
