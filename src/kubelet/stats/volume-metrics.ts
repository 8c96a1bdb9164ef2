/** The metrics `kubelet_volume_stats_*` of claims. Pure. */
import type { NamedVolumeStats } from "#kubelet/volumes/volume-stats.ts";
import { type Family, metricText } from "./metric-text.ts";

type Field =
  | "capacityBytes"
  | "availableBytes"
  | "usedBytes"
  | "inodes"
  | "inodesFree"
  | "inodesUsed";

const FIELDS: readonly (readonly [name: string, field: Field, help: string])[] = [
  ["capacity_bytes", "capacityBytes", "Capacity in bytes of the volume"],
  ["available_bytes", "availableBytes", "Number of available bytes in the volume"],
  ["used_bytes", "usedBytes", "Number of used bytes in the volume"],
  ["inodes", "inodes", "Maximum number of inodes in the volume"],
  ["inodes_free", "inodesFree", "Number of free inodes in the volume"],
  ["inodes_used", "inodesUsed", "Number of used inodes in the volume"],
];

/** A claim that several pods use counts once. */
export function volumeMetrics(stats: Iterable<readonly NamedVolumeStats[]>): string {
  const claims = new Map<string, NamedVolumeStats>();
  for (const one of [...stats].flat()) {
    if (one.pvcRef === undefined) continue;
    const key = `${one.pvcRef.namespace}/${one.pvcRef.name}`;
    if (!claims.has(key)) claims.set(key, one);
  }
  const samplesOf = (amountOf: (stats: NamedVolumeStats) => number | undefined) =>
    [...claims.values()].flatMap((one) => {
      const value = amountOf(one);
      const { namespace = "", name = "" } = one.pvcRef ?? {};
      return value === undefined
        ? []
        : [{ labels: { namespace, persistentvolumeclaim: name }, value }];
    });
  const families: Family[] = FIELDS.map(([name, field, help]) => ({
    name: `kubelet_volume_stats_${name}`,
    type: "gauge",
    help: `[ALPHA] ${help}`,
    samples: samplesOf((one) => one[field]),
  }));
  families.push({
    name: "kubelet_volume_stats_health_status_abnormal",
    type: "gauge",
    help: "[ALPHA] Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy",
    samples: samplesOf(({ volumeHealthStats: health }) =>
      health === undefined ? undefined : Number(health.abnormal),
    ),
  });
  return metricText(families);
}
