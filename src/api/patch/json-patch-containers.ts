/** Objects and arrays under a JSON patch: reading, inserting and removing by the key of a path. */
import { member, setMember } from "./json-value.ts";

export type Container = Record<string, unknown> | unknown[];

export class PatchError extends Error {}

export const MISSING = "missing value";
const BAD_INDEX = "invalid index referenced";

/** Why a text is no index of an array. */
interface IndexFault {
  readonly fault: string;
}

/** Negative ones count from the end; `length` places there are. */
export function indexIn({ length }: { readonly length: number }, key: string): number | IndexFault {
  if (!/^[-+]?[0-9]+$/.test(key)) {
    return { fault: `strconv.Atoi: parsing "${key}": invalid syntax` };
  }
  const index = Number(key);
  if (index >= length || index < -length) {
    return { fault: `Unable to access invalid index: ${index}: ${BAD_INDEX}` };
  }
  return index < 0 ? index + length : index;
}

export function read(container: Container, key: string, where: string): unknown {
  if (!Array.isArray(container)) return member(container, key);
  const index = indexIn(container, key);
  if (typeof index !== "number") throw new PatchError(`${where}: ${index.fault}`);
  return container[index];
}

export function insert(container: Container, key: string, value: unknown, where: string): void {
  if (!Array.isArray(container)) {
    setMember(container, key, value);
    return;
  }
  const place = key === "-" ? container.length : indexIn({ length: container.length + 1 }, key);
  if (typeof place === "number") {
    container.splice(place, 0, value);
    return;
  }
  const isNumber = !place.fault.startsWith("strconv");
  const why = isNumber ? "" : `value was not a proper array index: '${key}': `;
  throw new PatchError(`${where}: ${why}${place.fault}`);
}

export function removeAt(container: Container, key: string, where: string): void {
  if (Array.isArray(container)) {
    const index = indexIn(container, key);
    if (typeof index !== "number") throw new PatchError(`${where}: ${index.fault}`);
    container.splice(index, 1);
    return;
  }
  if (!Object.hasOwn(container, key)) {
    throw new PatchError(`${where}: Unable to remove nonexistent key: ${key}: ${MISSING}`);
  }
  delete container[key];
}
