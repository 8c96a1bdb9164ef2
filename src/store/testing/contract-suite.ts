/**
 * The contract as tests. Every implementation runs all of them; `Subject` says what differs.
 *
 * Subjects may share a store between tests (starting an etcd takes a while): tests keep to the keys
 * under their own `prefix` and count revisions from where they began.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import {
  type Entry,
  type Store,
  StoreError,
  type StoreProblem,
  type WatchEvent,
} from "#store/contract.ts";
import { restoreMemoryStore } from "#store/memory.ts";
import { verifySnapshot } from "#store/snapshot.ts";
import { describeReads } from "./read-suite.ts";
import { describeWatches } from "./watch-suite.ts";
import { describeWrites } from "./write-suite.ts";

export interface Subject extends AsyncDisposable {
  readonly store: Store;
  /** A prefix that no other test uses; ends with a slash. */
  readonly prefix: string;
  /** The longest value that it takes; VALUE_BYTES_MAX unless given. */
  readonly valueBytesMax?: number;
  /** The store as callers see it over a restored snapshot; the restored one itself unless given. */
  over?(restored: Store): Store;
  /** Lets this much of the store's time pass, and a little more if need be. */
  passTime(durationMs: number): Promise<void>;
}

export type OpenSubject = () => Promise<Subject>;

export function describeStore(name: string, open: OpenSubject): void {
  describe(`store contract: ${name}`, () => {
    describeReads(open);
    describeWrites(open);
    describeWatches(open);
    describeLifetimes(open);
  });
}

export function bytes(text: string): Uint8Array {
  return Buffer.from(text);
}

export function text(value: Uint8Array | undefined): string | undefined {
  return value && Buffer.from(value).toString();
}

/** Fails unless `work` rejects with a StoreError of this code; returns its problem. */
export async function rejects<Code extends StoreProblem["code"]>(
  work: Promise<unknown> | (() => unknown),
  code: Code,
): Promise<Extract<StoreProblem, { code: Code }>> {
  const error = await (typeof work === "function" ? (async () => work())() : work).then(
    () => assert.fail(`expected ${code}`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StoreError, `expected ${code}, got ${error}`);
  assert.equal(error.problem.code, code, error.message);
  return error.problem as Extract<StoreProblem, { code: Code }>;
}

/** An event in one line: `put a=2 (was 1)`. */
export function brief({ type, key, value, prevValue }: WatchEvent, prefix: string): string {
  const now = type === "put" ? `=${text(value)}` : "";
  const was = prevValue === undefined ? "" : ` (was ${text(prevValue)})`;
  return `${type} ${key.slice(prefix.length)}${now}${was}`;
}

function describeLifetimes(open: OpenSubject): void {
  test.concurrent("lease: a key with ttlSeconds is deleted when its time is over", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const abort = new AbortController();
    const events: string[] = [];
    const watching = store.watch(prefix, { signal: abort.signal }).deliverTo((batch) => {
      for (const event of batch.events) events.push(brief(event, prefix));
    });
    await store.put(`${prefix}gone`, bytes("1"), { ttlSeconds: 2 });
    await store.put(`${prefix}stays`, bytes("1"), { ttlSeconds: 2 });
    await store.put(`${prefix}stays`, bytes("2"));
    await subject.passTime(1_000);
    assert.equal(await store.count(prefix), 2, "not before its time");
    await subject.passTime(2_000);
    assert.equal((await store.get(`${prefix}gone`)).entry, undefined);
    assert.equal(text((await store.get(`${prefix}stays`)).entry?.value), "2");
    abort.abort();
    await watching;
    assert.deepEqual(events, [
      "put gone=1",
      "put stays=1",
      "put stays=2 (was 1)",
      "delete gone (was 1)",
    ]);
  });

  test.concurrent("lease: writing a key again restarts its ttlSeconds", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    await store.put(`${prefix}a`, bytes("1"), { ttlSeconds: 2 });
    await subject.passTime(1_000);
    await store.put(`${prefix}a`, bytes("2"), { ttlSeconds: 4 });
    await subject.passTime(2_000);
    assert.equal(text((await store.get(`${prefix}a`)).entry?.value), "2");
    await subject.passTime(3_000);
    assert.equal((await store.get(`${prefix}a`)).entry, undefined);
  });

  test("a snapshot holds one revision, whatever is written meanwhile", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const directory = await mkdtemp(join(tmpdir(), "k8ts-snapshot-"));
    const path = join(directory, "all");
    const fill = Array.from({ length: 1_200 }, (_, index) => `${prefix}${index}`);
    await Promise.all(fill.map((key) => store.put(key, bytes(key))));
    await store.put(`${prefix}5`, bytes("changed"));
    const running = store.snapshot(path);
    await Promise.all(fill.map((key) => store.put(key, bytes("later"))));
    const summary = await running;
    assert.deepEqual(await verifySnapshot(path), summary);

    using clock = new VirtualClock();
    await using copy = await restoreMemoryStore(path, { clock });
    assert.equal(await copy.currentRevision(), summary.revision);
    const wanted = await store.range(prefix, { atRevision: summary.revision });
    const found = await (subject.over?.(copy) ?? copy).range(prefix);
    const comparable = (entry: Entry): unknown => ({ ...entry, value: text(entry.value) });
    assert.deepEqual(found.entries.map(comparable), wanted.entries.map(comparable));
    await rm(directory, { recursive: true });
  });

  test("a closed store refuses everything and ends its watches", async () => {
    await using subject = await open();
    const { store, prefix } = subject;
    const abort = new AbortController();
    const watch = store.watch(prefix, { signal: abort.signal });
    const next = watch[Symbol.asyncIterator]().next();
    const ended = rejects(next, "Closed");
    await store[Symbol.asyncDispose]();
    await ended;
    await rejects(store.get(`${prefix}a`), "Closed");
    await rejects(store.put(`${prefix}a`, bytes("1")), "Closed");
    await rejects(store.currentRevision(), "Closed");
    await rejects(() => store.watch(prefix, { signal: abort.signal }), "Closed");
    await store[Symbol.asyncDispose](); // twice is allowed
  });
}
