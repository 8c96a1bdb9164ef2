/**
 * A mark of progress never runs ahead of the events that it speaks for, however far behind the watch
 * is and however often it is asked. etcd's own answers do: before 3.4.25 and 3.5.8 they overtake
 * events that wait to be sent, and those of watches that it has not got round to.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { Store, WatchBatch } from "#store/contract.ts";
import { bytes } from "#store/testing/contract-suite.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { type EtcdCluster, startEtcd } from "./etcd-cluster.ts";
import { openWhenReady } from "./open-etcd.ts";

const missing = missingProgram("etcd");
const KEYS = 2_000;
/** More than etcd catches up with at once (512), more than twice over. */
const WATCHES = 1_100;

let cluster: EtcdCluster;
let store: Store;
/** Every revision after this one wrote a key under /p/. */
let base: number;

describe.skipIf(missing !== undefined)(`etcd progress${missing ? ` (${missing})` : ""}`, () => {
  beforeAll(async () => {
    cluster = await startEtcd();
    store = await openWhenReady(cluster.endpoints);
    await store.put("/elsewhere", bytes("1"));
    base = await store.currentRevision();
    const keys = Array.from({ length: KEYS }, (_, index) => `/p/${index}`);
    await Promise.all(keys.map((key) => store.put(key, bytes("1"))));
  });
  afterAll(async () => {
    await store[Symbol.asyncDispose]();
    await cluster[Symbol.asyncDispose]();
  });

  test("asked for at once, by a watch that begins in the past", async () => {
    for (let round = 0; round < 10; round++) {
      const abort = new AbortController();
      const check = new Check(base);
      const watch = store.watch("/p/", { fromRevision: base + 1, signal: abort.signal });
      watch.requestProgress();
      for await (const batch of watch) {
        check.take(batch);
        if (check.revision >= base + KEYS) break;
      }
      abort.abort();
    }
  });

  test("asked for at once, by more watches than etcd catches up with at once", async () => {
    const abort = new AbortController();
    const last = base + KEYS;
    const watching = Array.from({ length: WATCHES }, async () => {
      const check = new Check(last - 20);
      const watch = store.watch("/p/", { fromRevision: last - 19, signal: abort.signal });
      watch.requestProgress();
      for await (const batch of watch) {
        check.take(batch);
        if (check.revision >= last) break;
      }
    });
    await Promise.all(watching).finally(() => abort.abort());
  });

  test("asked for again and again, by a consumer that is slow to read", async () => {
    const abort = new AbortController();
    const watching = Array.from({ length: 8 }, async () => {
      const check = new Check(base);
      const watch = store.watch("/p/", { fromRevision: base + 1, signal: abort.signal });
      for await (const batch of watch) {
        check.take(batch);
        if (check.revision >= base + KEYS) break;
        for (let asked = 0; asked < 4; asked++) {
          watch.requestProgress();
          await sleep(60);
        }
      }
    });
    await Promise.all(watching).finally(() => abort.abort());
  });

  test("a watch without events gets progress notifications", async () => {
    const abort = new AbortController();
    const watch = store.watch("/quiet/", { fromRevision: base, signal: abort.signal });
    const batches = watch[Symbol.asyncIterator]();
    for (let round = 0; round < 5; round++) {
      const { revision } = await store.put("/elsewhere", bytes(`${round}`));
      watch.requestProgress();
      const { value } = await batches.next();
      assert.deepEqual(value, { revision, events: [] });
    }
    abort.abort();
  });
});

/** Holds a watch of /p/ to its word. */
class Check {
  revision: number;
  #received: number;

  constructor(before: number) {
    this.revision = before;
    this.#received = before;
  }

  take({ revision, events }: WatchBatch): void {
    for (const event of events) {
      assert.equal(event.revision, this.#received + 1, "every revision once, in order");
      this.#received = event.revision;
    }
    const promised = Math.min(revision, base + KEYS);
    assert.equal(this.#received, promised, `progress ${revision} came before the events up to it`);
    assert.ok(revision >= this.revision, "progress never goes back");
    this.revision = revision;
  }
}
