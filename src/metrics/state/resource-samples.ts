/** Amounts of resources as kube-state-metrics writes them: the resource and its unit as labels. Pure. */
import { parseQuantity, quantityMilliValue, quantityValue } from "#api/meta/quantity.ts";
import type { LabelValues, StateSample } from "./metric-family.ts";

export function resourceSamples(
  labels: LabelValues,
  resources: Readonly<Record<string, string>> | undefined | null,
): readonly StateSample[] {
  return Object.entries(resources ?? {}).flatMap(([name, text]) => {
    const amount = amountOf(name, text);
    if (amount === undefined) return [];
    const resource = name.replace(/[^a-zA-Z0-9_]/g, "_");
    return [{ labels: { ...labels, resource, unit: unitOf(name) }, value: amount }];
  });
}

/** Processors in cores, everything else in whole units. */
export function amountOf(resource: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const parsed = parseQuantity(text);
  if (!parsed.ok) return undefined;
  return resource.endsWith("cpu")
    ? quantityMilliValue(parsed.value) / 1000
    : quantityValue(parsed.value);
}

function unitOf(name: string): string {
  if (name === "cpu") return "core";
  if (name === "pods") return "integer";
  if (name === "memory" || name.endsWith("storage") || name.startsWith("hugepages-")) return "byte";
  return "integer";
}
