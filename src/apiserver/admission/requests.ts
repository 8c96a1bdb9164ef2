/** What plug-ins look for in requests, with the type that goes with it. */
import type { Draft, Kind, KindOf, KubeObject } from "#api/kind.ts";
import type { AdmissionRequest, Operation } from "./plugin.ts";

export function isOf(kind: Kind, group: string, plural: string): boolean {
  return kind.group === group && kind.names.plural === plural;
}

/** The object of a write to one kind itself, or to one of its subresources if named. */
export function draftOf<T extends KubeObject>(
  request: AdmissionRequest,
  kind: KindOf<T>,
  operations: readonly Operation[],
  subresource = "",
): Draft<T> | undefined {
  if (!operations.includes(request.operation) || request.subresource !== subresource) return;
  if (!isOf(request.kind, kind.group, kind.names.plural)) return;
  return request.object as Draft<T> | undefined;
}
