/** Shared by what is measured of controllers, under upstream's names. */
import type { KubeObject } from "#api/kind.ts";
import type { Outcome } from "#runtime/controller.ts";
import type { Write } from "#runtime/writes.ts";

/** So many bounds, each so many times the one before. */
export function exponential(first: number, factor: number, count: number): readonly number[] {
  const bounds = [first];
  while (bounds.length < count) bounds.push(bounds.at(-1)! * factor);
  return bounds;
}

/** Upstream's for what a single request may take. */
export const SYNC_SECONDS = exponential(0.001, 2, 15);

export function writesOf({ writes = [] }: Outcome): readonly Write[] {
  return writes.flat() as readonly Write[];
}

/** The objects of a kind that a decision creates or writes. */
export function objectsOf<T extends KubeObject>(
  outcome: Outcome,
  op: "create" | "update",
  kind: { readonly names: { readonly kind: string }; readonly $object?: T },
): readonly T[] {
  return writesOf(outcome).flatMap((write) =>
    write.op === op && write.kind.names.kind === kind.names.kind ? [write.object as T] : [],
  );
}

/** How often each set of labels occurs. */
export function tallied(
  labels: Iterable<readonly string[]>,
): readonly { readonly labels: readonly string[]; readonly value: number }[] {
  const counts = new Map<string, { labels: readonly string[]; value: number }>();
  for (const set of labels) {
    const id = JSON.stringify(set);
    const known = counts.get(id);
    if (known === undefined) counts.set(id, { labels: set, value: 1 });
    else known.value += 1;
  }
  return [...counts.values()];
}
