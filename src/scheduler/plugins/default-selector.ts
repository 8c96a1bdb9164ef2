/** The pods that belong together with a pod: those of its services and of its controller. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import {
  EVERYTHING,
  matchesLabels,
  type Selector,
  selectorFromLabels,
  selectorOf,
} from "#api/meta/label-selector.ts";
import type { Handle } from "#scheduler/plugin.ts";

/** Empty if nothing selects the pod. */
export function defaultSelector({ metadata }: Pod, { objects }: Pick<Handle, "objects">): Selector {
  const { namespace = "", labels = {}, ownerReferences = [] } = metadata;
  const merged: Record<string, string> = {};
  for (const { spec } of objects.services.list(namespace)) {
    const { selector } = spec;
    if (selector === undefined || Object.keys(selector).length === 0) continue;
    if (matchesLabels(selectorFromLabels(selector), labels)) Object.assign(merged, selector);
  }
  const selector = selectorFromLabels(merged);
  const base = selector === "nothing" ? EVERYTHING : selector;
  const owner = ownerReferences.find(({ controller }) => controller === true);
  const own = owner === undefined ? undefined : ownerSelector(owner, namespace, objects);
  if (own === undefined || own === "nothing" || base === "nothing") return base;
  return [...base, ...own];
}

function ownerSelector(
  { kind, name, apiVersion }: { kind: string; name: string; apiVersion: string },
  namespace: string,
  objects: Handle["objects"],
): Selector | undefined {
  switch (`${apiVersion}/${kind}`) {
    case "v1/ReplicationController": {
      const found = objects.replicationControllers.get(namespace, name);
      return found === undefined ? undefined : selectorFromLabels(found.spec.selector ?? {});
    }
    case "apps/v1/ReplicaSet":
      return read(objects.replicaSets.get(namespace, name)?.spec.selector);
    case "apps/v1/StatefulSet":
      return read(objects.statefulSets.get(namespace, name)?.spec.selector);
    default:
      return undefined;
  }
}

function read(spec: LabelSelector | null | undefined): Selector | undefined {
  if (spec === undefined || spec === null) return undefined;
  const parsed = selectorOf(spec);
  return parsed.ok ? parsed.value : undefined;
}
