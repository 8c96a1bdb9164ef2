/** What the kubelet's server shows of the kubelet. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import type { NamedVolumeStats } from "#kubelet/volumes/volume-stats.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { LineMover } from "./log/line-mover.ts";

export interface KubeletView {
  readonly nodeName: string;
  /** The pods of this node, mirror pods and static ones among them, with their latest status. */
  pods(): readonly Pod[];
  readonly cri: CriClient;
  /** For `/configz`: the configuration in force, a KubeletConfiguration. */
  configuration(): object;
  readonly metrics: Metrics;
  /** Why the kubelet does not work as it should; undefined while it does. */
  unhealthy(): string | undefined;
  /** The folder whose file system holds the kubelet's data. */
  readonly rootFolder: string;
  /** `/var/log`: what `/logs/` shows. */
  readonly logsFolder: string;
  /** `enableSystemLogQuery` */
  readonly allowLogQuery: boolean;
  /** `enableDebuggingHandlers`: true unless given. */
  readonly allowDebugging?: boolean;
  /** `enableSystemLogHandler` */
  readonly allowSystemLogs?: boolean;
  /** How full the volumes of pods are, by the pod's uid. */
  volumeStats(): Promise<ReadonlyMap<string, readonly NamedVolumeStats[]>>;
  /** The text of `/metrics/cadvisor`. */
  cadvisorMetrics(): Promise<string>;
  /** The text of `/metrics/probes`. */
  probeMetrics(): string;
  /** For logs that are large. */
  readonly lineMover?: LineMover;
}

export function podNamed(view: KubeletView, namespace: string, name: string): Pod | undefined {
  return view
    .pods()
    .find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}
