/** The contract's operations as etcd's messages, and back. */
import type { Conflict, Entry, Operation, TransactAnswer, WatchEvent } from "#store/contract.ts";
import {
  COMPARE,
  type Compare,
  EVENT_DELETE,
  type Event,
  type Header,
  type KeyValue,
  type RequestOp,
  TARGET,
  type TxnRequest,
  type TxnResponse,
} from "./rpc.ts";

export function revisionOf({ header }: { readonly header: Header | undefined }): number {
  return header?.revision ?? 0;
}

export function keyBytes(key: string): Uint8Array {
  return Buffer.from(key);
}

/** The first key behind all that begin with `prefix`, as etcd wants it; a zero byte: there is none. */
export function prefixEnd(prefix: string): Uint8Array {
  const bytes = Buffer.from(prefix);
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0xff) end -= 1;
  if (end === 0) return Buffer.of(0);
  const behind = Buffer.from(bytes.subarray(0, end));
  behind[end - 1]! += 1;
  return behind;
}

/** Where a range begins. etcd knows no empty key: a zero byte stands for the first one. */
export function rangeStart(prefix: string, startAfter: string | undefined): Uint8Array {
  const first = prefix === "" ? Buffer.of(0) : Buffer.from(prefix);
  if (startAfter === undefined) return first;
  const next = Buffer.from(`${startAfter}\0`);
  return Buffer.compare(next, first) > 0 ? next : first;
}

export function toEntry({ key, value, createRevision, modRevision, version }: KeyValue): Entry {
  return { key, value, createRevision, modRevision, version };
}

/** Undefined where a change has no place in the contract: it never happens with a sound server. */
export function toWatchEvent({ type, kv, prevKv }: Event): WatchEvent | undefined {
  if (kv === undefined) return undefined;
  const deleted = type === EVENT_DELETE;
  return {
    type: deleted ? "delete" : "put",
    key: kv.key,
    value: kv.value,
    prevValue: prevKv?.value,
    revision: kv.modRevision,
    createRevision: kv.createRevision,
    version: kv.version,
  };
}

/** `leaseOf` gives the lease of the operation with this index, 0 for none. */
export function toTxn(
  operations: readonly Operation[],
  leaseOf: (index: number) => bigint,
): TxnRequest {
  const [only] = operations;
  if (operations.length === 1 && only !== undefined) {
    const failure = isConditional(only) ? [{ range: { key: only.key } }] : [];
    return { compare: toCompare(only), success: toChange(only, leaseOf(0)), failure };
  }
  return {
    compare: operations.flatMap(toCompare),
    success: operations.flatMap((operation, index) => toChange(operation, leaseOf(index))),
    // The answer to a conflict: everything that a condition was about.
    failure: operations.filter(isConditional).map(({ key }) => ({ range: { key } })),
  };
}

export function toAnswer(operations: readonly Operation[], response: TxnResponse): TransactAnswer {
  const revision = revisionOf(response);
  if (response.succeeded) return { ok: true, revision };
  const found = response.responses.map(({ range }) => range?.kvs[0]);
  const conflicts: Conflict[] = [];
  for (const [index, operation] of operations.entries()) {
    if (!isConditional(operation)) continue;
    const kv = found.shift();
    if (!holds(operation, kv)) conflicts.push({ index, current: kv && toEntry(kv) });
  }
  return { ok: false, revision, conflicts };
}

export function isConditional(operation: Operation): boolean {
  if (operation.op === "delete" || operation.expectRevision !== undefined) return true;
  return operation.mustNotExist === true;
}

function toCompare(operation: Operation): Partial<Compare>[] {
  const { key, expectRevision } = operation;
  const target = TARGET.modRevision;
  if (operation.op !== "delete" && operation.mustNotExist === true) {
    return [{ result: COMPARE.equal, target, key, modRevision: 0 }];
  }
  if (expectRevision !== undefined) {
    return [{ result: COMPARE.equal, target, key, modRevision: expectRevision }];
  }
  return operation.op === "delete"
    ? [{ result: COMPARE.greater, target, key, modRevision: 0 }]
    : [];
}

function toChange(operation: Operation, lease: bigint): RequestOp[] {
  const { key } = operation;
  if (operation.op === "put") return [{ put: { key, value: operation.value, lease } }];
  return operation.op === "delete" ? [{ deleteRange: { key } }] : [];
}

function holds(operation: Operation, kv: KeyValue | undefined): boolean {
  if (operation.op !== "delete" && operation.mustNotExist === true) return kv === undefined;
  if (operation.expectRevision !== undefined) return kv?.modRevision === operation.expectRevision;
  return kv !== undefined;
}
