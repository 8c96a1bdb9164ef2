/**
 * The rows of `/metrics/cadvisor`: every container and sandbox, the cgroup of each pod, those that pods lie
 * in, and the machine itself. Labels are those of upstream's kubelet: containers have the name of their
 * image, a sandbox has no `container`, the cgroup of a pod has neither. Pure.
 */
import type { ContainerStatus, Pod } from "#api/generated/core.v1.ts";
import type { CgroupStats } from "#host/cgroup-stats.ts";
import type { InterfaceUsage } from "#host/network-usage.ts";
import type { FilesystemSpace } from "#host/node-usage.ts";
import type { ContainerStats } from "#kubelet/cri/stats-messages.ts";
import { CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID } from "#kubelet/runtime/labels.ts";
import type { Labels } from "../metric-text.ts";
import type { FilesystemRow, UsageRow } from "./usage-row.ts";

export interface SandboxUsage {
  readonly id: string;
  readonly image: string;
  readonly createdMs: number;
  readonly labels: Labels;
  readonly network: readonly InterfaceUsage[];
}

export interface MeasuredFilesystem {
  readonly device: string;
  readonly space: FilesystemSpace;
}

export interface UsageInputs {
  readonly pods: readonly Pod[];
  readonly containers: readonly ContainerStats[];
  readonly sandboxes: readonly SandboxUsage[];
  /** Those that pods lie in: `/kubepods`, `/kubepods/burstable`. */
  readonly parents: readonly string[];
  /** By name. */
  readonly cgroups: ReadonlyMap<string, CgroupStats>;
  readonly machine: {
    readonly bootMs: number;
    readonly memoryBytes: number;
    readonly network: readonly InterfaceUsage[];
    readonly filesystem: MeasuredFilesystem;
  };
  /** By mount point: those that writable layers lie in. */
  readonly filesystems: ReadonlyMap<string, MeasuredFilesystem>;
  podCgroup(pod: Pod): string;
}

const MACHINE_CGROUP = "/";

/** The names of all cgroups that rows are made of. */
export function cgroupNames(inputs: Omit<UsageInputs, "cgroups">): readonly string[] {
  const { pods, containers, sandboxes, parents } = inputs;
  const byUid = podsByUid(pods);
  const inside = [
    ...containers.map(({ attributes }) => cgroupOf(attributes, byUid, inputs)),
    ...sandboxes.map((one) => cgroupOf(one, byUid, inputs)),
  ];
  const all = [MACHINE_CGROUP, ...parents, ...pods.map((pod) => inputs.podCgroup(pod)), ...inside];
  return [...new Set(all.filter((name) => name !== ""))];
}

/** Cgroups that are gone have no row; containers have one in any case. */
export function usageRows(inputs: UsageInputs): readonly UsageRow[] {
  const { pods, containers, sandboxes, parents, cgroups, machine } = inputs;
  const byUid = podsByUid(pods);
  const known = (name: string): CgroupStats | undefined => {
    const stats = cgroups.get(name);
    return stats === undefined || Object.keys(stats).length === 0 ? undefined : stats;
  };
  const plain = (name: string, more: Partial<UsageRow>, labels: Labels = {}): UsageRow[] => {
    const cgroup = known(name);
    return cgroup === undefined
      ? []
      : [{ labels: labelsOf({ id: name, ...labels }), cgroup, ...more }];
  };
  return [
    ...plain(MACHINE_CGROUP, {
      // The kernel limits nothing here: the memory that there is is the limit.
      cgroup: { ...cgroups.get(MACHINE_CGROUP), memoryLimitBytes: machine.memoryBytes },
      startSeconds: machine.bootMs / 1000,
      network: machine.network,
      filesystem: { ...machine.filesystem, usedBytes: machine.filesystem.space.usedBytes },
    }),
    ...parents.flatMap((name) => plain(name, {})),
    ...pods.flatMap((pod) => {
      const { name = "", namespace = "" } = pod.metadata;
      const startSeconds = secondsOf(pod.status?.startTime);
      return plain(inputs.podCgroup(pod), { startSeconds }, { namespace, pod: name });
    }),
    ...sandboxes.flatMap((one) => {
      const name = cgroupOf(one, byUid, inputs);
      const { network, createdMs, id, image, labels } = one;
      const own = { name: id, image, ...podLabels(labels) };
      return plain(name, { network, startSeconds: Math.floor(createdMs / 1000) }, own);
    }),
    ...containers.map((stats) => containerRow(stats, byUid, inputs)),
  ];
}

function containerRow(
  runtime: ContainerStats,
  byUid: ReadonlyMap<string, Pod>,
  inputs: UsageInputs,
): UsageRow {
  const { id = "", labels = {} } = runtime.attributes ?? {};
  const name = cgroupOf(runtime.attributes, byUid, inputs);
  const container = labels[CONTAINER_NAME] ?? "";
  const { image, startedAt } = factsOf(byUid.get(labels[POD_UID] ?? ""), container);
  return {
    labels: labelsOf({ container, id: name, image, name: id, ...podLabels(labels) }),
    cgroup: inputs.cgroups.get(name) ?? {},
    runtime,
    startSeconds: secondsOf(startedAt),
    filesystem: filesystemOf(runtime, inputs),
  };
}

function filesystemOf(
  { writableLayer }: ContainerStats,
  { filesystems }: UsageInputs,
): FilesystemRow | undefined {
  const found = filesystems.get(writableLayer?.fsId?.mountpoint ?? "");
  if (found === undefined) return undefined;
  const bytes = writableLayer?.usedBytes?.value;
  return { ...found, usedBytes: bytes === undefined ? undefined : Number(bytes) };
}

function factsOf(
  pod: Pod | undefined,
  name: string,
): { readonly image: string; readonly startedAt: string | undefined } {
  const { containers, initContainers, ephemeralContainers } = pod?.spec ?? {};
  const all = [...(containers ?? []), ...(initContainers ?? []), ...(ephemeralContainers ?? [])];
  const status = statusesOf(pod).find((one) => one.name === name);
  return {
    image: status?.image || all.find((one) => one.name === name)?.image || "",
    startedAt: status?.state?.running?.startedAt ?? undefined,
  };
}

function statusesOf(pod: Pod | undefined): readonly ContainerStatus[] {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } =
    pod?.status ?? {};
  return [
    ...(containerStatuses ?? []),
    ...(initContainerStatuses ?? []),
    ...(ephemeralContainerStatuses ?? []),
  ];
}

/** "" if the pod is not known. */
function cgroupOf(
  one: { readonly id: string; readonly labels: Labels } | undefined,
  byUid: ReadonlyMap<string, Pod>,
  { podCgroup }: Pick<UsageInputs, "podCgroup">,
): string {
  const pod = byUid.get(one?.labels[POD_UID] ?? "");
  return pod === undefined ? "" : `${podCgroup(pod)}/${one?.id ?? ""}`;
}

function podsByUid(pods: readonly Pod[]): ReadonlyMap<string, Pod> {
  return new Map(pods.map((pod) => [pod.metadata.uid ?? "", pod]));
}

function podLabels(labels: Labels): Labels {
  return { namespace: labels[POD_NAMESPACE] ?? "", pod: labels[POD_NAME] ?? "" };
}

/** Families have the same labels everywhere; what a row does not have is empty. */
function labelsOf(known: Labels): Labels {
  const empty = { container: "", id: "", image: "", name: "", namespace: "", pod: "" };
  return { ...empty, ...known };
}

function secondsOf(time: string | undefined | null): number | undefined {
  return time ? Date.parse(time) / 1000 : undefined;
}
