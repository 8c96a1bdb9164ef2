/** Whether a pod changed in nothing but the part of its status that the kubelet writes. */
import type { Pod, PodStatus } from "#api/generated/core.v1.ts";
import { FOREIGN_STATUS, isEqual } from "./status-patch.ts";

/** `own`: the status that the kubelet has decided on. Conditions of other types belong to others. */
export function isStatusChange(old: Pod, next: Pod, own: PodStatus): boolean {
  return (
    isEqual(stableMetadata(old), stableMetadata(next)) &&
    isEqual(old.spec, next.spec) &&
    isEqual(foreignStatus(old, own), foreignStatus(next, own))
  );
}

function stableMetadata({ metadata }: Pod): object {
  const { resourceVersion: _version, managedFields: _fields, ...rest } = metadata;
  return rest;
}

function foreignStatus({ status }: Pod, { conditions: own = [] }: PodStatus): object {
  const types = new Set(own.map(({ type }) => type));
  const entries = Object.entries(status ?? {}).filter(([name]) => FOREIGN_STATUS.has(name));
  const conditions = (status?.conditions ?? []).filter(({ type }) => !types.has(type));
  return { ...Object.fromEntries(entries), conditions };
}
