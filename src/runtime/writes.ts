/**
 * An intended write, as data. Constructors carry the preconditions, so that a decision made on an
 * old state is refused by the server instead of overwriting a newer one.
 */
import type { KubeObject } from "#api/kind.ts";
import type { Typed } from "#client/client.ts";
import type { PatchType, ResourceRef } from "#client/transport.ts";
import type { EventNote } from "./controller.ts";

export type Propagation = "Background" | "Foreground" | "Orphan";

/**
 * Events about the write itself. In the message `{name}` stands for the name of the object
 * (which the server may have made up) and `{error}` for the reason of a refusal.
 */
export interface Notes {
  readonly onDone?: EventNote;
  readonly onRefused?: EventNote;
  /** A refusal with this reason records no event. */
  readonly noEventFor?: string;
}

export type Write = (
  | { readonly op: "create"; readonly kind: ResourceRef; readonly object: KubeObject }
  | {
      readonly op: "update";
      readonly kind: ResourceRef;
      readonly object: KubeObject;
      readonly subresource?: string;
    }
  | {
      readonly op: "patch";
      readonly kind: ResourceRef;
      readonly target: Target;
      readonly patchType: PatchType;
      readonly patch: unknown;
      readonly subresource?: string;
      /** Takes fields over that others own; for apply patches. */
      readonly force?: boolean;
    }
  | {
      readonly op: "delete";
      readonly kind: ResourceRef;
      readonly target: Target;
      readonly resourceVersion?: string;
      readonly propagation?: Propagation;
      readonly gracePeriodSeconds?: number;
    }
  /** All objects of a kind in a namespace. */
  | { readonly op: "deleteAll"; readonly kind: ResourceRef; readonly namespace: string }
) &
  Notes;

/** The same write, with events about its outcome. */
export function noted(write: Write, notes: Notes): Write {
  return { ...write, ...notes };
}

export interface Target {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly uid: string;
}

export function create<T extends KubeObject>(kind: Typed<T>, object: T): Write {
  return { op: "create", kind, object };
}

/** Fails with Conflict if the object has changed since it was observed. */
export function update<T extends KubeObject>(kind: Typed<T>, object: T): Write {
  return { op: "update", kind, object };
}

export function updateStatus<T extends KubeObject>(kind: Typed<T>, object: T): Write {
  return updateSubresource(kind, object, "status");
}

export function updateSubresource<T extends KubeObject>(
  kind: Typed<T>,
  object: T,
  subresource: string,
): Write {
  return { op: "update", kind, object, subresource };
}

/** The uid stands in the patch: a new object of the same name is not touched. */
export function patch<T extends KubeObject>(
  kind: Typed<T>,
  object: KubeObject,
  patchType: "merge" | "strategic",
  changes: Readonly<Record<string, unknown>>,
  subresource?: string,
): Write {
  const target = targetOf(object);
  const metadata = { ...(changes.metadata as object | undefined), uid: target.uid };
  return {
    op: "patch",
    kind,
    target,
    patchType,
    patch: { ...changes, metadata },
    ...(subresource === undefined ? {} : { subresource }),
  };
}

/** Server-side apply of just these fields with force: conflicts are overridden. */
export function applyFields<T extends KubeObject>(
  kind: Typed<T>,
  object: KubeObject,
  fields: Readonly<Record<string, unknown>>,
): Write {
  const target = targetOf(object);
  const { namespace, name, uid } = target;
  const metadata = { name, uid, ...(namespace === undefined ? {} : { namespace }) };
  const body = { apiVersion: kind.apiVersion, kind: kind.names.kind, metadata, ...fields };
  return { op: "patch", kind, target, patchType: "apply", patch: body, force: true };
}

export interface DeleteWriteOptions {
  readonly propagation?: Propagation;
  readonly gracePeriodSeconds?: number;
}

/** Deletes this very object, whatever has changed in it. */
export function remove<T extends KubeObject>(
  kind: Typed<T>,
  object: KubeObject,
  options: DeleteWriteOptions = {},
): Write {
  return { op: "delete", kind, target: targetOf(object), ...options };
}

/** Deletes this very object if it is still as it was observed. */
export function deleteUnchanged<T extends KubeObject>(
  kind: Typed<T>,
  object: KubeObject,
  options: DeleteWriteOptions = {},
): Write {
  const { resourceVersion } = object.metadata;
  return {
    op: "delete",
    kind,
    target: targetOf(object),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...options,
  };
}

/** Background deletion of everything of one kind in one namespace. */
export function deleteAll<T extends KubeObject>(kind: Typed<T>, namespace: string): Write {
  return { op: "deleteAll", kind, namespace };
}

function targetOf({ metadata: { namespace, name, uid } }: KubeObject): Target {
  return { namespace, name: name ?? "", uid: uid ?? "" };
}
