/**
 * One table or list of objects that a page follows. Changes are gathered, and the page gets at most
 * four messages a second, never a new one before the last one was written to the socket.
 */
import type { Clock } from "#lib/time/clock.ts";
import { type Column, columnsOf, rowsOf, tableFields } from "../table/table-answer.ts";
import { type Row, TableRows } from "../table/table-rows.ts";
import { type Change, type ListWatchOptions, listWatch } from "./list-watch.ts";
import { itemsOf, remainingOf, uidOf } from "./live-objects.ts";
import type { LiveMessage, LiveObject, TableView } from "./messages.ts";
import { Outbox } from "./outbox.ts";

const FLUSH_EVERY_MS = 250;
const OBJECTS_MAX = 5_000;
const WINDOW_ROWS_MAX = 500;

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const OBJECTS = "application/json";

export interface SubscriptionOptions extends Omit<ListWatchOptions, "accept" | "fields"> {
  readonly id: number;
  readonly clock: Clock;
  send(message: LiveMessage): Promise<void>;
}

export interface Subscription {
  /** Until the signal aborts. */
  readonly done: Promise<void>;
  /** Of a table. */
  look?(view: TableView): void;
}

export function subscribeTable(
  options: SubscriptionOptions,
  firstView: TableView,
  signal: AbortSignal,
): Subscription {
  const { id, clock, send, ownerUid } = options;
  const rows = new TableRows();
  let columns: readonly Column[] = [];
  let view = firstView;
  let isComplete = false;
  let isListed = false;
  let remaining = 0;
  let sent: SentRows = { offset: -1, rows: [] };
  rows.select(view);
  const outbox = new Outbox(clock, FLUSH_EVERY_MS, async () => {
    const { matched, isTruncated } = rows;
    const limit = Math.min(view.limit, WINDOW_ROWS_MAX);
    const offset = Math.max(0, Math.min(view.offset, matched - 1));
    const counted = { total: rows.total + remaining, matched, isTruncated, isComplete };
    const next = { offset, rows: rows.window(offset, limit) };
    const changed = changedRows(next, sent);
    sent = next;
    await send({ ...{ id, type: "table", columns, ...counted, offset }, ...changed });
  });
  const take = (change: Change): void => {
    switch (change.type) {
      case "page":
        if (change.isFirst) {
          rows.clear();
          columns = columnsOf(change.value);
        }
        rows.putAll(rowsOf(change.value, ownerUid));
        remaining = ownerUid === undefined ? remainingOf(change.value) : 0;
        isListed = true;
        break;
      case "synced":
        isComplete = true;
        remaining = 0;
        break;
      case "put":
        if (
          !rowsOf(change.value, ownerUid)
            .map((row) => rows.put(row))
            .includes(true)
        )
          return;
        break;
      case "delete":
        for (const { uid } of rowsOf(change.value, ownerUid)) rows.remove(uid);
        break;
      case "failed":
        void send({ id, type: "error", code: change.code, message: change.message });
        return;
    }
    outbox.changed();
  };
  const look = (next: TableView): void => {
    view = next;
    rows.select(next);
    if (isListed) outbox.flushNow();
  };
  const watched = { ...options, accept: TABLE, fields: tableFields(ownerUid) };
  return { done: follow(watched, take, outbox, signal), look };
}

/** What the page has: the window of the last message. */
interface SentRows {
  readonly offset: number;
  readonly rows: readonly Row[];
}

/** The rows of a message; none if the page has them as they are. */
function changedRows(
  next: SentRows,
  sent: SentRows,
): { readonly rows?: readonly (Row | string)[] } {
  const { rows } = next;
  const isAsSent =
    next.offset === sent.offset &&
    rows.length === sent.rows.length &&
    rows.every((row, index) => row === sent.rows[index]);
  if (isAsSent) return {};
  const known = new Set(sent.rows);
  return { rows: rows.map((row) => (known.has(row) ? row.uid : row)) };
}

export function subscribeObjects(options: SubscriptionOptions, signal: AbortSignal): Subscription {
  const { id, clock, send } = options;
  const known = new Set<string>();
  let changed = new Map<string, LiveObject>();
  let deleted = new Set<string>();
  let reset = true;
  let isTruncated = false;
  let synced = false;
  const outbox = new Outbox(clock, FLUSH_EVERY_MS, async () => {
    const message = { reset, isTruncated, changed: [...changed.values()] };
    const deletedUids = [...deleted];
    changed = new Map();
    deleted = new Set();
    reset = false;
    await send({ id, type: "objects", ...message, deletedUids });
  });
  const put = (object: LiveObject): void => {
    const uid = uidOf(object);
    if (!known.has(uid) && known.size >= OBJECTS_MAX) {
      isTruncated = true;
      return;
    }
    known.add(uid);
    deleted.delete(uid);
    changed.set(uid, object);
  };
  const take = (change: Change): void => {
    switch (change.type) {
      case "page":
        if (change.isFirst) {
          for (const set of [known, changed, deleted]) set.clear();
          reset = true;
          isTruncated = false;
        }
        for (const object of itemsOf(change.value)) put(object);
        break;
      case "synced":
        synced = true;
        break;
      case "put":
        put(change.value as LiveObject);
        break;
      case "delete": {
        const uid = uidOf(change.value as LiveObject);
        known.delete(uid);
        changed.delete(uid);
        deleted.add(uid);
        break;
      }
      case "failed":
        void send({ id, type: "error", code: change.code, message: change.message });
        return;
    }
    if (synced) outbox.changed();
  };
  return { done: follow({ ...options, accept: OBJECTS, fields: true }, take, outbox, signal) };
}

async function follow(
  options: ListWatchOptions,
  take: (change: Change) => void,
  outbox: Outbox,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const change of listWatch(options, signal)) take(change);
  } finally {
    outbox.end();
  }
}
