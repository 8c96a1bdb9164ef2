/** Whether two specs say the same, in whatever notation they write their amounts. */
import { compareAmounts } from "#api/kinds/core/v1/resources/resource-lists.ts";

const AMOUNT_LISTS: ReadonlySet<string> = new Set(["limits", "requests", "overhead"]);
const AMOUNTS: ReadonlySet<string> = new Set(["sizeLimit", "divisor"]);

/** For pod specs and for everything that holds one. */
export function podSpecsEqual(a: unknown, b: unknown): boolean {
  return equal(a, b, "");
}

type Fields = Readonly<Record<string, unknown>>;

function equal(a: unknown, b: unknown, name: string): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) {
    const left = (a ?? []) as readonly unknown[];
    const right = (b ?? []) as readonly unknown[];
    return left.length === right.length && left.every((item, i) => equal(item, right[i], ""));
  }
  if (typeof a === "string" && typeof b === "string" && AMOUNTS.has(name)) {
    return compareAmounts(a, b) === 0;
  }
  if (!isFields(a) || !isFields(b)) return (a ?? undefined) === (b ?? undefined);
  const areAmounts = AMOUNT_LISTS.has(name);
  for (const key in a) {
    const left = a[key];
    const right = b[key];
    if (left === right) continue;
    if (areAmounts && typeof left === "string" && typeof right === "string") {
      if (compareAmounts(left, right) !== 0) return false;
    } else if (!equal(left, right, key)) return false;
  }
  for (const key in b) if (!Object.hasOwn(a, key) && !equal(undefined, b[key], key)) return false;
  return true;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
