/** Every built-in kind, and the ways to find one. */
import { coreKinds } from "./core-kinds.ts";
import { groupKinds } from "./group-kinds.ts";
import type { Kind } from "./kind.ts";
import { workloadKinds } from "./workload-kinds.ts";

export const builtInKinds: readonly Kind[] = [...coreKinds, ...workloadKinds, ...groupKinds];

/** The kind behind `/apis/<group>/<version>/…/<plural>`; group "" is the core group. */
export function findByPlural(group: string, version: string, plural: string): Kind | undefined {
  return byPlural.get(`${group}/${version}/${plural}`);
}

export function findByKind(group: string, version: string, kind: string): Kind | undefined {
  return byKind.get(`${group}/${version}/${kind}`);
}

const byPlural = indexBy(({ names }) => names.plural);
const byKind = indexBy(({ names }) => names.kind);

function indexBy(nameOf: (kind: Kind) => string): ReadonlyMap<string, Kind> {
  return new Map(
    builtInKinds.map((kind) => [`${kind.group}/${kind.version}/${nameOf(kind)}`, kind]),
  );
}
