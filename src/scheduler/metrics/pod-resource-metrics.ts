/** The requests and limits of every pod that has not ended, as /metrics/resources shows them. */
import type { Pod } from "#api/generated/core.v1.ts";
import { isHugePages } from "#api/kinds/core/v1/resources/resource-names.ts";
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { heldLimits, heldRequests } from "#api/quota/pod-amounts.ts";
import { Metrics } from "#lib/metrics.ts";

const LABELS = ["namespace", "pod", "node", "scheduler", "priority", "resource", "unit"];
const MEANING =
  "workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the resource if any.";

export function podResourceMetrics(pods: Iterable<Pod>): string {
  const metrics = new Metrics();
  // What a resize has not reached yet does not count.
  const living = [...pods].filter(isAlive).map((pod) => ({ ...pod, status: {} }));
  metrics.gaugesOf(
    {
      name: "kube_pod_resource_request",
      help: `Resources requested by ${MEANING}`,
      labels: LABELS,
    },
    () => living.flatMap((pod) => seriesOf(pod, heldRequests(pod))),
  );
  metrics.gaugesOf(
    { name: "kube_pod_resource_limit", help: `Resources limit for ${MEANING}`, labels: LABELS },
    () => living.flatMap((pod) => seriesOf(pod, heldLimits(pod))),
  );
  return metrics.text();
}

function isAlive({ spec, status }: Pod): boolean {
  const hasEnded = status?.phase === "Succeeded" || status?.phase === "Failed";
  return (spec.nodeName ?? "") === "" || !hasEnded;
}

function seriesOf(
  { metadata, spec }: Pod,
  amounts: Readonly<Record<string, string>>,
): readonly { readonly labels: readonly string[]; readonly value: number }[] {
  const { namespace = "", name = "" } = metadata;
  const { nodeName = "", schedulerName = "", priority = "" } = spec;
  const own = [namespace, name, nodeName, schedulerName, String(priority)];
  return Object.entries(amounts).flatMap(([resource, amount]) => {
    const quantity = quantityOf(amount);
    const isCpu = resource === "cpu";
    const value = isCpu ? quantityMilliValue(quantity) / 1000 : quantityValue(quantity);
    return value === 0 ? [] : [{ labels: [...own, resource, unitOf(resource)], value }];
  });
}

function unitOf(resource: string): string {
  switch (resource) {
    case "cpu":
      return "cores";
    case "memory":
    case "storage":
    case "ephemeral-storage":
      return "bytes";
    default:
      if (isHugePages(resource)) return "bytes";
      return resource.startsWith("attachable-volumes-") ? "integer" : "";
  }
}
