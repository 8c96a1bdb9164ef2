/**
 * Who controls an object: references to owners, adoption of orphans, release of strays.
 *
 * Claiming, for an owner with a selector:
 * - what it controls and matches is its own;
 * - what it controls but no longer matches is released;
 * - what matches and has no controller is adopted, unless it is being deleted;
 * - an owner that is being deleted adopts and releases nothing.
 */
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { patch, type Write } from "#runtime/writes.ts";

export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isControlledBy(object: KubeObject, owner: KubeObject): boolean {
  return controllerOf(object)?.uid === owner.metadata.uid;
}

export function controllerReference<T extends KubeObject>(
  kind: KindOf<T>,
  owner: T,
): OwnerReference {
  return {
    apiVersion: kind.apiVersion,
    kind: kind.names.kind,
    name: owner.metadata.name ?? "",
    uid: owner.metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

export interface Claims<T> {
  readonly owned: readonly T[];
  readonly writes: readonly Write[];
}

export function claim<Owner extends KubeObject, T extends KubeObject>(
  owner: { readonly kind: KindOf<Owner>; readonly object: Owner },
  kind: KindOf<T>,
  candidates: Iterable<T>,
  matches: (candidate: T) => boolean,
  /** What an adopted object gets beside the reference. */
  finalizers: readonly string[] = [],
): Claims<T> {
  const owned: T[] = [];
  const writes: Write[] = [];
  const { uid, deletionTimestamp } = owner.object.metadata;
  const mayChange = deletionTimestamp === undefined;
  for (const candidate of candidates) {
    const controller = controllerOf(candidate);
    if (controller !== undefined) {
      if (controller.uid !== uid) continue;
      if (matches(candidate)) owned.push(candidate);
      else if (mayChange) writes.push(releaseWrite(kind, candidate, uid));
    } else if (
      mayChange &&
      matches(candidate) &&
      candidate.metadata.deletionTimestamp === undefined
    ) {
      const added = finalizers.filter((f) => !candidate.metadata.finalizers?.includes(f));
      owned.push(withFinalizers(candidate, added));
      writes.push(
        adoptWrite(kind, candidate, controllerReference(owner.kind, owner.object), added),
      );
    }
  }
  return { owned, writes };
}

function adoptWrite<T extends KubeObject>(
  kind: KindOf<T>,
  object: T,
  reference: OwnerReference,
  finalizers: readonly string[],
): Write {
  return patch(kind, object, "strategic", {
    metadata: {
      ownerReferences: [reference],
      ...(finalizers.length === 0 ? {} : { finalizers }),
    },
  });
}

function withFinalizers<T extends KubeObject>(object: T, added: readonly string[]): T {
  if (added.length === 0) return object;
  const finalizers = [...(object.metadata.finalizers ?? []), ...added];
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

function releaseWrite<T extends KubeObject>(
  kind: KindOf<T>,
  object: T,
  uid: string | undefined,
): Write {
  return patch(kind, object, "strategic", {
    metadata: { ownerReferences: [{ $patch: "delete", uid }] },
  });
}
