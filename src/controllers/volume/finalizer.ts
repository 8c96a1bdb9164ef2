/** Holds an object that is deleted back while something uses it, by a finalizer. */
import type { KindOf, KubeObject } from "#api/kind.ts";
import { idle, type Outcome } from "#runtime/controller.ts";
import { update } from "#runtime/writes.ts";

export interface Protected<T extends KubeObject> {
  readonly object: T;
  readonly used: boolean;
}

/** The rule of all three kinds: live objects have the finalizer, terminating ones until they are unused. */
export function protect<T extends KubeObject>(
  kind: KindOf<T>,
  finalizer: string,
  state: Protected<T> | undefined,
): Outcome {
  if (state === undefined) return idle;
  const { object, used } = state;
  const held = object.metadata.finalizers ?? [];
  if (isHeld(object, finalizer)) {
    if (used) return idle;
    const finalizers = held.filter((name) => name !== finalizer);
    return { writes: [update(kind, withFinalizers(object, finalizers))] };
  }
  if (object.metadata.deletionTimestamp !== undefined || held.includes(finalizer)) return idle;
  return { writes: [update(kind, withFinalizers(object, [...held, finalizer]))] };
}

/** Deleted, and only waiting for those that use it. */
export function isHeld({ metadata }: KubeObject, finalizer: string): boolean {
  return (
    metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(finalizer)
  );
}

function withFinalizers<T extends KubeObject>(object: T, finalizers: readonly string[]): T {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}
