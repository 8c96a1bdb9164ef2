/**
 * Equality of values of normalised objects, and the fields that an update must leave alone.
 *
 * An absent list and an empty one are equal; absent maps are never present as empty ones after
 * normalisation, so an empty object is a struct that was given and differs from an absent one.
 * Quantities are equal if their amounts are, whatever their notation (`1Gi`, `1073741824`).
 */
import { compareQuantities, parseQuantity } from "#api/meta/quantity.ts";
import { type FieldError, invalid } from "./field-error.ts";
import type { Path } from "./path.ts";

/** Fields that hold a quantity or a map of quantities, in whatever struct they are. */
const QUANTITY_FIELDS: ReadonlySet<string> = new Set([
  "allocatable",
  "allocatedResources",
  "capacity",
  "default",
  "defaultRequest",
  "divisor",
  "hard",
  "limits",
  "max",
  "maxLimitRequestRatio",
  "maximumVolumeSize",
  "min",
  "overhead",
  "podFixed",
  "requests",
  "sizeLimit",
  "used",
]);

export function validateImmutableField(next: unknown, old: unknown, path: Path): FieldError[] {
  return semanticEqual(next, old) ? [] : [invalid(path, next, "field is immutable")];
}

export function semanticEqual(a: unknown, b: unknown): boolean {
  return equal(a, b, false);
}

/** `quantities`: texts here are quantities. */
function equal(a: unknown, b: unknown, quantities: boolean): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) return listsEqual(a ?? [], b ?? []);
  if (quantities && typeof a === "string" && typeof b === "string") return sameAmount(a, b);
  if (!isRecord(a) || !isRecord(b)) return (a ?? undefined) === (b ?? undefined);
  for (const key of Object.keys(a)) {
    if (!equal(a[key], b[key], quantities || QUANTITY_FIELDS.has(key))) return false;
  }
  return Object.keys(b).every((key) => Object.hasOwn(a, key) || equal(undefined, b[key], false));
}

function listsEqual(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, i) => equal(item, b[i], false));
}

function sameAmount(a: string, b: string): boolean {
  const [first, second] = [parseQuantity(a), parseQuantity(b)];
  return first.ok && second.ok && compareQuantities(first.value, second.value) === 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
