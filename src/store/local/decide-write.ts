/** Compare-and-swap as a pure function: what a transaction changes, or why it does not. */
import type { Conflict, Entry, Operation } from "#store/contract.ts";
import {
  type Change,
  costOf,
  type Head,
  positionOf,
  revisionOf,
  type Step,
  type View,
} from "./engine.ts";

export type WriteDecision =
  | { readonly ok: true; readonly steps: readonly Step[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] };

/** The tables as they will be once the writes ahead in the same group are committed. */
export class PendingView {
  readonly #view: View;
  readonly #changes = new Map<string, Change>();

  constructor(view: View) {
    this.#view = view;
  }

  /** The newest change of a key: its head, or its deletion within this group. */
  newest(key: string): Change | Head | undefined {
    return this.#changes.get(key) ?? this.#view.keys.head(key);
  }

  /** The position of the deletion that a new key continues from; 0 if there is none. */
  tombstone(key: string): number {
    return this.#changes.get(key)?.position ?? this.#view.keys.tombstone(key);
  }

  entry(head: Change | Head): Entry {
    const change = "value" in head ? head : this.#view.log.change(head.position);
    if (change === undefined) throw new Error(`the log lacks the change of ${head.key}`);
    return toEntry(change);
  }

  add({ change }: Step): void {
    this.#changes.set(change.key, change);
  }
}

export function decideWrite(
  operations: readonly Operation[],
  pending: PendingView,
  revision: number,
  nowMs: number,
): WriteDecision {
  const steps: Step[] = [];
  let conflicts: Conflict[] | undefined;
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index]!;
    const newest = pending.newest(operation.key);
    const current = newest === undefined || isDeletion(newest) ? undefined : newest;
    if (!holds(operation, current)) {
      conflicts ??= [];
      conflicts.push({ index, current: current && pending.entry(current) });
    } else if (operation.op !== "check") {
      const position = positionOf(revision, steps.length);
      const change = toChange(operation, position, current, pending, nowMs);
      steps.push({ change, replaced: current });
    }
  }
  return conflicts === undefined ? { ok: true, steps } : { ok: false, conflicts };
}

export function toEntry(change: Change): Entry {
  return {
    key: change.key,
    value: change.value,
    createRevision: change.createRevision,
    modRevision: revisionOf(change.position),
    version: change.version,
  };
}

const NO_VALUE = new Uint8Array();

function holds(operation: Operation, current: Head | undefined): boolean {
  const { expectRevision } = operation;
  if (operation.op !== "delete" && operation.mustNotExist === true) return current === undefined;
  if (expectRevision !== undefined) {
    return current !== undefined && revisionOf(current.position) === expectRevision;
  }
  return operation.op !== "delete" || current !== undefined;
}

function toChange(
  operation: Exclude<Operation, { op: "check" }>,
  position: number,
  current: Head | undefined,
  pending: PendingView,
  nowMs: number,
): Change {
  const { key } = operation;
  const deleted = operation.op === "delete";
  const value = deleted ? NO_VALUE : operation.value;
  const ttlSeconds = deleted ? undefined : operation.ttlSeconds;
  return {
    key,
    position,
    value,
    deleted,
    createRevision: current?.createRevision ?? revisionOf(position),
    version: deleted ? 0 : (current?.version ?? 0) + 1,
    bytes: costOf(key, value.length),
    expiresAtMs: ttlSeconds === undefined ? 0 : nowMs + ttlSeconds * 1000,
    previous: current?.position ?? pending.tombstone(key),
    committedAtMs: nowMs,
  };
}

function isDeletion(head: Change | Head): boolean {
  return "deleted" in head && head.deleted;
}
