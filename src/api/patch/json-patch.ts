/**
 * JSON Patch as the API server applies it, which is not quite RFC 6902:
 * an index may be negative or have leading zeros, the first segment of a path is not looked at,
 * `replace` creates a missing member, `copy` of a missing member gives null, `test` of a missing
 * member against null passes.
 *
 * Promises:
 * 1. Document and patch stay as they are (the document may be frozen); the result shares with both
 *    what no operation touched.
 * 2. Work is bounded: operations by number, copies by the bytes they add.
 */
import { encodeJson } from "#api/codec/json.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  requestTooLargeStatus,
  success,
} from "#api/meta/status.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import {
  type Container,
  indexIn,
  insert,
  MISSING,
  PatchError,
  read,
  removeAt,
} from "./json-patch-containers.ts";
import { isObject, type JsonObject, jsonEqual, member, setMember } from "./json-value.ts";

const OPERATIONS_MAX = 10_000;
const COPY_BYTES_MAX = 3 * 1024 * 1024;

export type PatchedDocument =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string };

/** Checks the shape of a decoded patch; null is an empty one. */
export function jsonPatchOperations(patch: unknown): Result<readonly JsonObject[]> {
  if (patch === null) return success([]);
  if (!Array.isArray(patch))
    return failure(undecodable(patch, "value of type []handlers.jsonPatchOp"));
  const operations: JsonObject[] = [];
  for (const item of patch) {
    if (item !== null && !isObject(item)) {
      return failure(undecodable(item, "value of type handlers.jsonPatchOp"));
    }
    for (const name of ["op", "path", "from"]) {
      const value = member(item ?? {}, name);
      if (value !== undefined && value !== null && typeof value !== "string") {
        return failure(undecodable(value, `struct field jsonPatchOp.${name} of type string`));
      }
    }
    operations.push(item ?? {});
  }
  if (operations.length > OPERATIONS_MAX) {
    const counts = `${OPERATIONS_MAX}, got ${operations.length}`;
    return failure(
      requestTooLargeStatus(`The allowed maximum operations in a JSON patch is ${counts}`),
    );
  }
  return success(operations);
}

/** Members of operations that no operation has: `[0].foo`. */
export function unknownPatchFields(operations: readonly JsonObject[]): string[] {
  return operations.flatMap((operation, i) =>
    Object.keys(operation)
      .filter((name) => !OPERATION_MEMBERS.has(name))
      .map((name) => `[${i}].${name}`),
  );
}

export function applyJsonPatch(
  document: unknown,
  operations: readonly JsonObject[],
): PatchedDocument {
  const patcher = new Patcher(document);
  try {
    for (const operation of operations) patcher.run(operation);
    return { ok: true, value: patcher.root };
  } catch (error) {
    if (error instanceof PatchError) return { ok: false, error: error.message };
    throw error;
  }
}

const TEST_FAILED = ": test failed";

/** Whether an error of `applyJsonPatch` says that a `test` operation did not hold. */
export function isFailedTest(error: string): boolean {
  return error.endsWith(TEST_FAILED);
}

const OPERATION_MEMBERS: ReadonlySet<string> = new Set(["op", "path", "from", "value"]);

function undecodable(value: unknown, target: string) {
  const kind = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const name = kind === "boolean" ? "bool" : kind;
  return badRequestStatus(`error decoding patch: json: cannot unmarshal ${name} into Go ${target}`);
}

class Patcher {
  root: unknown;
  /** Containers made by this patch, which may be changed in place. */
  readonly #own = new Set<unknown>();
  #copiedBytes = 0;

  constructor(document: unknown) {
    this.root = document;
  }

  run(operation: JsonObject): void {
    const kind = member(operation, "op") ?? "unknown";
    switch (kind) {
      case "add":
        this.#add(operation);
        break;
      case "remove":
        this.#remove(operation);
        break;
      case "replace":
        this.#replace(operation);
        break;
      case "move":
        this.#move(operation);
        break;
      case "copy":
        this.#copy(operation);
        break;
      case "test":
        this.#test(operation);
        break;
      default:
        throw new PatchError(`Unexpected kind: ${kind}`);
    }
  }

  #add(operation: JsonObject): void {
    const path = textOf(operation, "add", "path");
    const place = this.#find(path);
    if (place === undefined) throw missing("add", `path: "${path}"`);
    insert(place.container, place.key, operand(operation), `error in add for path: '${path}'`);
  }

  #remove(operation: JsonObject): void {
    const path = textOf(operation, "remove", "path");
    const place = this.#find(path);
    if (place === undefined) throw missing("remove", `path: "${path}"`);
    removeAt(place.container, place.key, `error in remove for path: '${path}'`);
  }

  #replace(operation: JsonObject): void {
    const path = textOf(operation, "replace", "path");
    const value = operand(operation);
    if (path === "") {
      if (typeof value !== "object" || value === null) {
        throw new PatchError("replace operation value must be object or array");
      }
      this.root = value;
      return;
    }
    const place = this.#find(path);
    if (place === undefined) throw missing("replace", `path: ${path}`);
    const { container, key } = place;
    if (Array.isArray(container)) {
      const index = indexIn(container, key);
      if (typeof index !== "number") throw missing("replace", `key: ${path}`);
      container[index] = value;
    } else setMember(container, key, value);
  }

  #move(operation: JsonObject): void {
    const from = textOf(operation, "move", "from");
    const source = this.#find(from);
    if (source === undefined) throw missing("move", `from path: ${from}`);
    const where = `error in move for path: '${source.key}'`;
    const value = read(source.container, source.key, where);
    removeAt(source.container, source.key, where);
    const path = textOf(operation, "move", "path");
    const target = this.#find(path);
    if (target === undefined) throw missing("move", `destination path: ${path}`);
    insert(target.container, target.key, value, `error in move for path: '${path}'`);
  }

  #copy(operation: JsonObject): void {
    const from = textOf(operation, "copy", "from");
    const source = this.#find(from);
    if (source === undefined) throw missing("copy", `from path: ${from}`);
    const value = read(source.container, source.key, `error in copy for from: '${from}'`);
    const path = textOf(operation, "copy", "path");
    this.#disown(value); // before the target is looked for, which may lie inside
    const target = this.#find(path);
    if (target === undefined) throw missing("copy", `destination path: ${path}`);
    if (value !== undefined) this.#countCopy(value);
    // The way to the target may have passed through it.
    const passed = read(source.container, source.key, "");
    const copied = this.#copyOfOurs(passed) ?? null;
    insert(target.container, target.key, copied, "error while adding value during copy");
  }

  /** The same value with nothing in it that may be changed in place. */
  #copyOfOurs(value: unknown): unknown {
    if (typeof value !== "object" || value === null || !this.#own.has(value)) return value;
    if (Array.isArray(value)) return value.map((item) => this.#copyOfOurs(item));
    const copy: JsonObject = {};
    for (const [key, inner] of Object.entries(value)) setMember(copy, key, this.#copyOfOurs(inner));
    return copy;
  }

  #test(operation: JsonObject): void {
    const path = textOf(operation, "test", "path");
    let value = this.root;
    if (path !== "") {
      const place = this.#find(path);
      if (place === undefined) {
        throw new PatchError(`test operation does not apply: is missing path: ${path}: ${MISSING}`);
      }
      value = read(place.container, place.key, `error in test for path: '${path}'`) ?? null;
    }
    if (!jsonEqual(value, operand(operation))) {
      throw new PatchError(`testing value ${path} failed${TEST_FAILED}`);
    }
  }

  #countCopy(value: unknown): void {
    this.#copiedBytes += utf8Length(encodeJson(value));
    if (this.#copiedBytes > COPY_BYTES_MAX) {
      throw new PatchError(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${COPY_BYTES_MAX}`,
      );
    }
  }

  /** What stands at two places now must not be changed in place through either. */
  #disown(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    this.#own.delete(value);
    for (const child of Object.values(value)) this.#disown(child);
  }

  /** The container of a path's last key. All on the way is made ours, also for reading: upstream
   * writes what a patch has passed through anew, and shows it so where it is refused. */
  #find(path: string): { container: Container; key: string } | undefined {
    const segments = path.split("/");
    if (segments.length < 2) return undefined;
    const key = decodeKey(segments.at(-1)!);
    let container = this.#ours(this.root as Container);
    this.root = container;
    for (const segment of segments.slice(1, -1)) {
      const step = decodeKey(segment);
      const index = Array.isArray(container) ? indexIn(container, step) : step;
      if (typeof index === "object") return undefined;
      const next = Array.isArray(container) ? container[index as number] : member(container, step);
      if (typeof next !== "object" || next === null) return undefined;
      const inner = this.#ours(next as Container);
      if (Array.isArray(container)) container[index as number] = inner;
      else setMember(container, step, inner);
      container = inner;
    }
    return { container, key };
  }

  #ours(container: Container): Container {
    if (this.#own.has(container)) return container;
    const copy = Array.isArray(container) ? [...container] : { ...container };
    this.#own.add(copy);
    return copy;
  }
}

function missing(kind: string, what: string): PatchError {
  return new PatchError(`${kind} operation does not apply: doc is missing ${what}: ${MISSING}`);
}

/** A missing value counts as null. */
function operand(operation: JsonObject): unknown {
  return member(operation, "value") ?? null;
}

function textOf(operation: JsonObject, kind: string, name: "path" | "from"): string {
  const text = member(operation, name);
  if (typeof text === "string") return text;
  const why = name === "from" ? `operation, missing from field: ${MISSING}` : MISSING;
  throw new PatchError(`${kind} operation failed to decode ${name}: ${why}`);
}

function decodeKey(segment: string): string {
  return segment.replace(/~[01]/g, (code) => (code === "~1" ? "/" : "~"));
}
