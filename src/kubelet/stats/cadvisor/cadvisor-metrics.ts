/** The text of `/metrics/cadvisor`: use of resources by cgroups, under the names that dashboards read. Pure. */
import type { MachineFacts } from "#host/machine.ts";
import { type Family, type Labels, metricText, type Sample } from "../metric-text.ts";
import { CONTAINER_FAMILIES, type ContainerFamily, type ReadAt } from "./container-families.ts";
import { type CpuCounts, gauge, machineFamilies } from "./machine-families.ts";
import type { UsageRow } from "./usage-row.ts";

export interface CadvisorInputs {
  readonly nowMs: number;
  readonly rows: readonly UsageRow[];
  /** Names of block devices by their numbers. */
  readonly devices: ReadonlyMap<string, string>;
  readonly machine: MachineFacts;
  readonly cpus: CpuCounts;
  /** The runtime could not be asked: containers are missing. */
  readonly isIncomplete: boolean;
}

export function cadvisorMetrics(inputs: CadvisorInputs): string {
  const { nowMs, rows, devices, machine, cpus, isIncomplete } = inputs;
  const at: ReadAt = {
    nowSeconds: nowMs / 1000,
    deviceName: (device) => devices.get(device) ?? "",
  };
  return metricText([
    ...machineFamilies(machine, cpus),
    ...CONTAINER_FAMILIES.map((family) => familyOf(family, rows, at, nowMs)),
    gauge(
      "container_scrape_error",
      "1 if there was an error while getting container metrics, 0 otherwise",
      {},
      Number(isIncomplete),
    ),
  ]);
}

function familyOf(
  { name, type, help, isSetting = false, read }: ContainerFamily,
  rows: readonly UsageRow[],
  at: ReadAt,
  timeMs: number,
): Family {
  const samples = rows.flatMap((row) =>
    read(row, at).flatMap(({ value, labels: more }): Sample[] => {
      if (value === undefined) return [];
      const labels = more === undefined ? row.labels : sorted({ ...row.labels, ...more });
      return [isSetting ? { labels, value } : { labels, value, timeMs }];
    }),
  );
  return { name, type, help, samples };
}

/** By name, as upstream writes them. */
function sorted(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
