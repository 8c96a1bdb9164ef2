/**
 * What plug-ins look for in requests, with the type that goes with it. A request carries its objects
 * without their type; here, where its kind is compared, they get it.
 */
import type { TokenRequest } from "#api/generated/authentication.v1.ts";
import type { Binding } from "#api/generated/core.v1.ts";
import type { Kind, KindOf, KubeObject } from "#api/kind.ts";
import type { AdmissionRequest, Operation } from "./admission-request.ts";

export function isOf(kind: Kind, group: string, plural: string): boolean {
  return kind.group === group && kind.names.plural === plural;
}

/** The object of a write to one kind itself, or to one of its subresources if named. */
export function objectOfKind<T extends KubeObject>(
  request: AdmissionRequest,
  kind: KindOf<T>,
  operations: readonly Operation[],
  subresource = "",
): T | undefined {
  if (!operations.includes(request.operation) || request.subresource !== subresource) return;
  if (!isOf(request.kind, kind.group, kind.names.plural)) return;
  return request.object as T | undefined;
}

/** The object of a write that the caller knows to be of this kind and to have one; throws if not. */
export function writtenObject<T extends KubeObject>(request: AdmissionRequest, kind: KindOf<T>): T {
  return ofKind(request, kind, request.object) as T;
}

/** What stood there before a write that the caller knows to be of this kind; throws if nothing did. */
export function oldObject<T extends KubeObject>(request: AdmissionRequest, kind: KindOf<T>): T {
  return ofKind(request, kind, request.old) as T;
}

/** Subresources to which objects of a type of their own are written. */
interface SubresourceBodies {
  readonly "pods/binding": Binding;
  readonly "serviceaccounts/token": TokenRequest;
}

/** What is created in a subresource of the core group; undefined for other requests. */
export function bodyOf<Place extends keyof SubresourceBodies>(
  { operation, kind, subresource, object }: AdmissionRequest,
  place: Place,
): SubresourceBodies[Place] | undefined {
  if (operation !== "CREATE" || kind.group !== "") return;
  if (`${kind.names.plural}/${subresource}` !== place) return;
  return object as SubresourceBodies[Place] | undefined;
}

function ofKind<Object>(
  { operation, kind }: AdmissionRequest,
  { group, names }: Kind,
  object: Object | undefined,
): Object {
  if (object !== undefined && isOf(kind, group, names.plural)) return object;
  throw new Error(
    `${operation} of ${kind.names.plural} has no object of ${names.plural} to look at`,
  );
}
