/**
 * Parts that an update does not change, mostly the spec or the status, are taken from the old object:
 * later comparisons are by identity, and the parts are neither copied nor frozen again.
 */
import type { Draft, KubeObject } from "#api/kind.ts";
import { membersOf } from "#api/members.ts";
import { jsonEqual } from "#api/patch/json-value.ts";

type Parts = Record<string, unknown>;

/** These say what the object is; everything else is a part. */
const HEAD: ReadonlySet<string> = new Set(["kind", "apiVersion", "metadata"]);

/** From then on these parts of the draft are frozen. */
export function reuseUnchangedParts(draft: Draft<KubeObject>, old: KubeObject): void {
  const parts = draft as object as Parts;
  const before = membersOf(old);
  for (const name in parts) {
    if (HEAD.has(name) || parts[name] === before[name]) continue;
    if (jsonEqual(parts[name], before[name])) parts[name] = before[name];
  }
}

/** The names of parts that were taken; none if the two are not made of the same parts. */
export function takenParts(draft: KubeObject, old: KubeObject): ReadonlySet<string> {
  const [parts, before] = [membersOf(draft), membersOf(old)];
  for (const name in before) if (!Object.hasOwn(parts, name)) return NONE;
  const taken = new Set<string>();
  for (const name in parts) {
    if (!Object.hasOwn(before, name)) return NONE;
    if (!HEAD.has(name) && parts[name] === before[name]) taken.add(name);
  }
  return taken;
}

const NONE: ReadonlySet<string> = new Set();

export function withoutParts(object: KubeObject, taken: ReadonlySet<string>): Parts {
  const left: Parts = {};
  const parts = membersOf(object);
  for (const name in parts) {
    if (!taken.has(name)) left[name] = parts[name];
  }
  return left;
}

/** The other way round: in the order of the old object, which is that of all of its kind. */
export function withParts(left: Parts, taken: ReadonlySet<string>, old: KubeObject): Parts {
  const parts: Parts = {};
  const before = membersOf(old);
  for (const name in before) {
    if (HEAD.has(name)) continue;
    const value = taken.has(name) ? before[name] : left[name];
    if (value !== undefined) parts[name] = value;
  }
  return parts;
}
