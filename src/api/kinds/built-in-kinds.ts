/** Every built-in kind, and the way to find one. */

import type { Kind } from "../kind.ts";
import { coreKinds } from "./core-kinds.ts";
import { groupKinds } from "./group-kinds.ts";
import { workloadKinds } from "./workload-kinds.ts";

export const builtInKinds: readonly Kind[] = [...coreKinds, ...workloadKinds, ...groupKinds];

/** Group "" is the core group. */
export function findByKind(group: string, version: string, kind: string): Kind | undefined {
  return byKind.get(`${group}/${version}/${kind}`);
}

const byKind: ReadonlyMap<string, Kind> = new Map(
  builtInKinds.map((kind) => [`${kind.group}/${kind.version}/${kind.names.kind}`, kind]),
);
