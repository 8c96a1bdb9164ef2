/** The table of HorizontalPodAutoscalers: each metric as current/target. */
import { ageColumn, nameColumn, UNKNOWN, UNSET } from "#api/columns.ts";
import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from "#api/generated/autoscaling.v2.ts";
import type { Column } from "#api/kind.ts";

const METRICS_SHOWN_MAX = 2;
const SPEC = "autoscaling.v2.HorizontalPodAutoscalerSpec";

export const autoscalerColumns: readonly Column<HorizontalPodAutoscaler>[] = [
  nameColumn,
  {
    name: "Reference",
    type: "string",
    describedBy: `${SPEC}.scaleTargetRef`,
    cell: ({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
  },
  {
    name: "Targets",
    type: "string",
    describedBy: `${SPEC}.metrics`,
    cell: ({ spec, status }) => metricsText(spec.metrics ?? [], status.currentMetrics ?? []),
  },
  {
    name: "MinPods",
    type: "string",
    describedBy: `${SPEC}.minReplicas`,
    cell: ({ spec }) => String(spec.minReplicas ?? UNSET),
  },
  {
    name: "MaxPods",
    type: "string",
    describedBy: `${SPEC}.maxReplicas`,
    cell: ({ spec }) => spec.maxReplicas,
  },
  {
    name: "Replicas",
    type: "string",
    describedBy: "autoscaling.v2.HorizontalPodAutoscalerStatus.currentReplicas",
    cell: ({ status }) => status.currentReplicas ?? 0,
  },
  ageColumn,
];

function metricsText(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return "<none>";
  const texts = specs.slice(0, METRICS_SHOWN_MAX).map((spec, i) => metricText(spec, statuses[i]));
  const text = texts.join(", ");
  const more = specs.length - METRICS_SHOWN_MAX;
  return more > 0 ? `${text} + ${more} more...` : text;
}

/** A metric may lack the source that its type asks for: tables show what is stored, sound or not. */
function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case "External":
      return valueText(spec.external?.target, status?.external?.current);
    case "Object":
      return valueText(spec.object?.target, status?.object?.current);
    case "Pods":
      return `${status?.pods?.current.averageValue ?? UNKNOWN}/${spec.pods?.target.averageValue ?? "0"}`;
    case "Resource":
      return resourceText(spec.resource, status?.resource?.current);
    case "ContainerResource":
      return resourceText(spec.containerResource, status?.containerResource?.current);
    default:
      return "<unknown type>";
  }
}

function valueText(
  target: Partial<MetricTarget> = {},
  current: MetricValueStatus | undefined,
): string {
  if (target.averageValue === undefined)
    return `${current?.value ?? UNKNOWN}/${target.value ?? "0"}`;
  return `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`;
}

const NO_RESOURCE: { readonly name: string; readonly target: Partial<MetricTarget> } = {
  name: "",
  target: {},
};

function resourceText(
  { name, target } = NO_RESOURCE,
  current: MetricValueStatus | undefined,
): string {
  if (target.averageValue !== undefined) {
    return `${name}: ${current?.averageValue ?? UNKNOWN}/${target.averageValue}`;
  }
  return `${name}: ${percentText(current?.averageUtilization, UNKNOWN)}/${percentText(target.averageUtilization, "<auto>")}`;
}

function percentText(percent: number | undefined, otherwise: string): string {
  return percent === undefined ? otherwise : `${percent}%`;
}
