/**
 * Who owns each field, from metadata.managedFields. A field of a list with keys is named by those
 * (`k:{"name":"web"}`), one of a set by its value (`v:"x"`). Pure.
 */
import type { KubeObject } from "./kube-object.ts";
import type { FieldPath } from "./yaml-lines.ts";

/** Names of managers by path, as JSON. */
export type FieldOwners = ReadonlyMap<string, readonly string[]>;

export function fieldOwners(object: KubeObject): FieldOwners {
  const owners = new Map<string, string[]>();
  for (const { manager, subresource, fieldsV1 } of object.metadata.managedFields ?? []) {
    const name = `${manager ?? "unknown"}${subresource ? ` (${subresource})` : ""}`;
    mark(object, fieldsV1, [], name, owners);
  }
  return owners;
}

export function ownersOf(owners: FieldOwners, path: FieldPath): readonly string[] {
  return owners.get(JSON.stringify(path)) ?? [];
}

function mark(
  value: unknown,
  fields: unknown,
  path: FieldPath,
  manager: string,
  owners: Map<string, string[]>,
): void {
  if (typeof fields !== "object" || fields === null) return;
  for (const [field, inner] of Object.entries(fields)) {
    if (field === ".") {
      add(owners, path, manager);
      continue;
    }
    const step = stepOf(value, field);
    if (step === undefined) continue;
    const child = (value as Record<string | number, unknown>)[step];
    const at = [...path, step];
    if (Object.keys(inner ?? {}).length === 0) add(owners, at, manager);
    else mark(child, inner, at, manager, owners);
  }
}

function add(owners: Map<string, string[]>, path: FieldPath, manager: string): void {
  const key = JSON.stringify(path);
  const found = owners.get(key);
  if (found === undefined) owners.set(key, [manager]);
  else if (!found.includes(manager)) found.push(manager);
}

/** The key or index that a name of fieldsV1 stands for; undefined if the object has no such field. */
function stepOf(value: unknown, field: string): string | number | undefined {
  const rest = field.slice(2);
  if (field.startsWith("f:")) {
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, rest);
    return isThere ? rest : undefined;
  }
  if (!Array.isArray(value)) return undefined;
  const index = field.startsWith("i:")
    ? Number(rest)
    : value.findIndex((item) => isNamed(item, field));
  return index >= 0 && index < value.length ? index : undefined;
}

function isNamed(item: unknown, field: string): boolean {
  const wanted = parsed(field.slice(2));
  if (field.startsWith("v:")) return item === wanted;
  if (!field.startsWith("k:") || typeof wanted !== "object" || wanted === null) return false;
  return Object.entries(wanted).every(
    ([key, value]) => (item as Record<string, unknown> | null)?.[key] === value,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
