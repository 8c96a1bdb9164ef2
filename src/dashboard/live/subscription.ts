/**
 * One table or list of objects that a page follows. Changes are gathered, and the page gets at most
 * four messages a second, never a new one before the last one was written to the socket.
 */
import type { Clock } from "#lib/time/clock.ts";
import { type Column, columnsOf, rowsOf } from "../table/table-answer.ts";
import { type Row, TableRows } from "../table/table-rows.ts";
import { type Change, type ListWatchOptions, listWatch } from "./list-watch.ts";
import { itemsOf, uidOf } from "./live-objects.ts";
import type { LiveMessage, LiveObject, TableView } from "./messages.ts";
import { Outbox } from "./outbox.ts";

const FLUSH_EVERY_MS = 250;
const OBJECTS_MAX = 5_000;
const WINDOW_ROWS_MAX = 500;
const PAGES_PER_MESSAGE = 20;

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const OBJECTS = "application/json";

export interface SubscriptionOptions extends Omit<ListWatchOptions, "accept"> {
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
  const { id, clock, send } = options;
  const rows = new TableRows();
  let columns: readonly Column[] = [];
  let view = firstView;
  let isComplete = false;
  let pages = 0;
  /** Rows that the page has, by uid: those of the last message. */
  let sent: ReadonlyMap<string, Row> = new Map();
  rows.select(view);
  const outbox = new Outbox(clock, FLUSH_EVERY_MS, async () => {
    const { matched, total, isTruncated } = rows;
    const limit = Math.min(view.limit, WINDOW_ROWS_MAX);
    const offset = Math.max(0, Math.min(view.offset, matched - 1));
    const counted = { total, matched, isTruncated, isComplete };
    const window = rows.window(offset, limit);
    const before = sent;
    sent = new Map(window.map((row) => [row.uid, row]));
    await send({
      ...{ id, type: "table", columns, ...counted, offset },
      rows: window.map((row) => (before.get(row.uid) === row ? row.uid : row)),
    });
  });
  const take = (change: Change): void => {
    switch (change.type) {
      case "page":
        if (change.isFirst) {
          rows.clear();
          columns = columnsOf(change.value);
          pages = 0;
        }
        rows.putAll(rowsOf(change.value));
        pages += 1;
        // To put what is there in order costs more with each page: the first is shown, then now and then one.
        if (pages % PAGES_PER_MESSAGE !== 1) return;
        break;
      case "synced":
        isComplete = true;
        break;
      case "put":
        for (const row of rowsOf(change.value)) rows.put(row);
        break;
      case "delete":
        for (const { uid } of rowsOf(change.value)) rows.remove(uid);
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
    if (pages > 0) outbox.flushNow();
  };
  return { done: follow({ ...options, accept: TABLE }, take, outbox, signal), look };
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
  return { done: follow({ ...options, accept: OBJECTS }, take, outbox, signal) };
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
