/** What is known of one cgroup when `/metrics/cadvisor` is read: a container, a sandbox, a pod, a group of pods. */
import type { CgroupStats } from "#host/cgroup-stats.ts";
import type { InterfaceUsage } from "#host/network-usage.ts";
import type { FilesystemSpace } from "#host/node-usage.ts";
import type { ContainerStats } from "#kubelet/cri/stats-messages.ts";
import type { Labels } from "../metric-text.ts";

export interface UsageRow {
  readonly labels: Labels;
  readonly cgroup: CgroupStats;
  /** As the runtime measures it: of containers. A virtual machine's cgroup says less than its runtime. */
  readonly runtime?: ContainerStats;
  readonly startSeconds?: number | undefined;
  /** Of sandboxes and of the machine: containers of a pod share its network. */
  readonly network?: readonly InterfaceUsage[];
  readonly filesystem?: FilesystemRow | undefined;
}

export interface FilesystemRow {
  /** `/dev/vda` */
  readonly device: string;
  readonly space: FilesystemSpace;
  /** Of this the row uses so much. */
  readonly usedBytes: number | undefined;
}

/** A value of a row, with labels beside those of the row. */
export interface RowValue {
  readonly value: number | undefined;
  readonly labels?: Labels;
}
