/** What the etcd store promises when servers die, are full, or want to see certificates. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";
import { createLogger } from "#lib/logger.ts";
import { defineMessage } from "#lib/protobuf/message.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { type Store, StoreError } from "#store/contract.ts";
import { openEmbeddedStore, restoreEmbeddedStore } from "#store/embedded.ts";
import { Endpoints } from "#store/etcd/endpoints.ts";
import type { Method } from "#store/etcd/rpc.ts";
import { openEtcdStore, restoreEtcdStore } from "#store/etcd.ts";
import { bytes, rejects, text } from "#store/testing/contract-suite.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { startEtcd } from "./etcd-cluster.ts";
import { openWhenReady } from "./open-etcd.ts";

const missing = missingProgram("etcd");

describe.skipIf(missing !== undefined)(`etcd failures${missing ? ` (${missing})` : ""}`, () => {
  test("a server that is gone makes everything unavailable until it is back", async () => {
    await using cluster = await startEtcd();
    const lines: string[] = [];
    const logger = createLogger({
      level: "info",
      clock: systemClock,
      format: "text",
      write: (line) => lines.push(line),
    });
    await using store = await openWhenReady(cluster.endpoints, { callTimeoutMs: 2_000, logger });
    lines.length = 0; // it may not have answered at once
    const abort = new AbortController();
    const received: string[] = [];
    const watching = store.watch("/a/", { signal: abort.signal }).deliverTo(({ events }) => {
      for (const { value, revision } of events) received.push(`${text(value)}@${revision}`);
    });
    await store.put("/a/x", bytes("1"));
    await cluster.kill(0);
    await rejects(store.get("/a/x"), "Unavailable");
    await rejects(store.range("/a/"), "Unavailable");
    await rejects(store.put("/a/x", bytes("lost")), "Unavailable");
    await rejects(
      store.transact([{ op: "delete", key: "/a/x", expectRevision: 2 }]),
      "Unavailable",
    );
    assert.match(lines[0]!, /warn {2}no etcd member can be reached reasons=/);
    assert.ok(lines.length <= 3, "at most a line in 30 s");
    await cluster.start(0);
    await eventually(async () => (await store.get("/a/x")).entry !== undefined);
    assert.equal(text((await store.get("/a/x")).entry?.value), "1");
    assert.deepEqual(await store.put("/a/x", bytes("2")), { ok: true, revision: 3 });
    await eventually(async () => received.length === 2);
    assert.deepEqual(received, ["1@2", "2@3"]);
    assert.match(lines.at(-1)!, /info {2}etcd can be reached again endpoint=/);
    abort.abort();
    await watching;
  });

  test("with three members any one may be killed in the middle of writes", async () => {
    await using cluster = await startEtcd({ members: 3 });
    await using store = await openWhenReady(cluster.endpoints);
    await using watcher = await openWhenReady(cluster.endpoints.toReversed());
    const base = await store.currentRevision();
    const abort = new AbortController();
    const revisions: number[] = [];
    const watching = watcher
      .watch("/c/", { signal: abort.signal, fromRevision: base + 1 })
      .deliverTo(({ events }) => {
        for (const { revision } of events) revisions.push(revision);
      });

    let stop = false;
    const writers = Array.from({ length: 8 }, (_, writer) =>
      count(store, `/c/${writer}`, () => stop),
    );
    const killed: number[] = [];
    for (const member of [0, 1, 2]) {
      await sleep(200);
      await cluster.kill(member);
      killed.push(member);
      const before = revisions.length;
      await eventually(async () => revisions.length > before + 20);
      await cluster.start(member);
      await sleep(200);
    }
    stop = true;
    const counts = await Promise.all(writers);
    const newest = await store.currentRevision();
    await eventually(async () => revisions.at(-1) === newest);
    abort.abort();
    await watching;

    for (const [writer, acknowledged] of counts.entries()) {
      const { entry } = await store.get(`/c/${writer}`);
      assert.equal(text(entry?.value), `${acknowledged}`, `of writer ${writer}`);
      assert.equal(entry?.version, acknowledged + 1, "no write happened twice");
    }
    const all = Array.from({ length: newest - base }, (_, index) => base + 1 + index);
    assert.deepEqual(revisions, all, "the watch saw every write once, in order");
    assert.deepEqual(killed, [0, 1, 2]);
  });

  test("a full etcd refuses writes, goes on reading, and recovers by itself", async () => {
    await using cluster = await startEtcd({ flags: ["--quota-backend-bytes", "3000000"] });
    await using store = await openWhenReady(cluster.endpoints);
    await store.put("/keep", bytes("1"));
    const big = new Uint8Array(400_000).fill(1);
    const fill = async (): Promise<void> => {
      for (;;) await store.put("/fill", big);
    };
    await rejects(fill(), "NoSpace");
    assert.equal(text((await store.get("/keep")).entry?.value), "1");
    await rejects(store.put("/keep", bytes("2")), "NoSpace");

    await store.compact(await store.currentRevision());
    using admin = new Endpoints({
      endpoints: cluster.endpoints,
      clock: systemClock,
      callTimeoutMs: 5_000,
    });
    await admin.call(defragment, {}, "read");
    const { alarms } = await admin.call(alarm, {}, "read");
    assert.equal(alarms.length, 1);
    await admin.call(alarm, { action: ALARM_DEACTIVATE, ...alarms[0] }, "read");
    assert.equal((await store.put("/keep", bytes("3"))).ok, true);
  });

  test("certificates are shown to the server and asked of it", async () => {
    const directory = mkdtempSync(join(tmpdir(), "k8ts-etcd-tls-"));
    const nowMs = systemClock.nowMs();
    const ca = openAuthority(join(directory, "ca"), "etcd-ca", nowMs);
    const stranger = openAuthority(join(directory, "stranger"), "other-ca", nowMs);
    const server = issueLeaf(
      ca,
      { subject: { commonName: "etcd" }, purpose: "server auth", altNames: ["127.0.0.1"] },
      nowMs,
    );
    const client = issueLeaf(
      ca,
      { subject: { commonName: "k8ts" }, purpose: "client auth" },
      nowMs,
    );
    writeFileSync(join(directory, "server.crt"), server.certificatePem);
    writeFileSync(join(directory, "server.key"), server.keyPem);
    await using cluster = await startEtcd({
      tls: {
        ca: join(directory, "ca.crt"),
        cert: join(directory, "server.crt"),
        key: join(directory, "server.key"),
      },
    });
    const pem = (text: string): Buffer => Buffer.from(text);
    const certificate = { cert: pem(client.certificatePem), key: pem(client.keyPem) };
    const tls = { ca: pem(ca.certificatePem), ...certificate };
    {
      await using store = await openWhenReady(cluster.endpoints, { tls });
      assert.equal((await store.put("/a", bytes("1"))).ok, true);
    }
    const rows = [
      { name: "no certificate", tls: { ca: tls.ca } },
      { name: "an authority that did not sign", tls: { ...tls, ca: pem(stranger.certificatePem) } },
    ];
    for (const row of rows) {
      const opening = openEtcdStore({ clock: systemClock, endpoints: cluster.endpoints, ...row });
      const error = await opening.then(
        () => assert.fail(row.name),
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof StoreError);
      assert.equal(error.problem.code, "Unavailable", row.name);
      assert.match(error.message, /cert|handshake|issuer|alert|signature/i, row.name);
    }
    rmSync(directory, { recursive: true });
  });

  test("history is given up by itself, by one of several stores at a time", async () => {
    await using cluster = await startEtcd();
    const options = { historyMs: 150 };
    await using first = await openWhenReady(cluster.endpoints, options);
    await using second = await openWhenReady(cluster.endpoints, options);
    await first.put("/a", bytes("1"));
    const old = await first.currentRevision();
    await second.put("/a", bytes("2"));
    await eventually(async () => {
      const failed = await first.get("/a", { atRevision: old }).then(
        () => undefined,
        (error: unknown) => error,
      );
      return failed instanceof StoreError && failed.problem.code === "Compacted";
    });
    const { entry } = await first.get("compact_rev_key");
    assert.ok(Number(text(entry?.value)) > old, "where upstream's API servers look for it");
    assert.equal(text((await first.get("/a")).entry?.value), "2");
  });
});

describe.skipIf(missing !== undefined)(`etcd snapshots${missing ? ` (${missing})` : ""}`, () => {
  test("a snapshot goes from etcd into the embedded store and into another etcd", async () => {
    const directory = mkdtempSync(join(tmpdir(), "k8ts-etcd-snapshot-"));
    const path = join(directory, "snapshot");
    await using cluster = await startEtcd();
    await using other = await startEtcd();
    await using source = await openWhenReady(cluster.endpoints);
    await using target = await openWhenReady(other.endpoints);
    for (const name of ["a", "b", "c"]) await source.put(`/registry/${name}`, bytes(name));
    await source.put("/registry/a", bytes("again"));
    await source.put("/registry/event", bytes("e"), { ttlSeconds: 100 });
    const { revision } = await source.snapshot(path);

    await restoreEmbeddedStore(path, join(directory, "store"));
    {
      await using store = await openEmbeddedStore({
        directory: join(directory, "store"),
        clock: systemClock,
      });
      assert.deepEqual(await store.range(""), await source.range("", { atRevision: revision }));
    }
    await restoreEtcdStore(path, target, systemClock);
    const values = async (store: Store): Promise<unknown[]> =>
      (await store.range("")).entries.map(({ key, value }) => [key, text(value)]);
    assert.deepEqual(await values(target), await values(source));
    await rejects(restoreEtcdStore(path, target, systemClock), "InUse");
    rmSync(directory, { recursive: true });
  });
});

/** Counts upwards under a key until `stop` returns true; returns the last number acknowledged. */
async function count(store: Store, key: string, stop: () => boolean): Promise<number> {
  await store.put(key, bytes("0"), { mustNotExist: true });
  let value = 0;
  let revision = (await store.get(key)).entry!.modRevision;
  while (!stop()) {
    const next = value + 1;
    try {
      const answer = await store.put(key, bytes(`${next}`), { expectRevision: revision });
      assert.ok(
        answer.ok,
        `${key}: another writer wrote ${text(answer.ok ? undefined : answer.current?.value)}`,
      );
      ({ revision } = answer);
      value = next;
    } catch (error) {
      // Unavailable for longer than the store itself tries: look what became of it.
      if (!(error instanceof StoreError) || error.problem.code !== "Unavailable") throw error;
      await eventually(async () => {
        const { entry } = await store.get(key);
        value = Number(text(entry?.value));
        revision = entry!.modRevision;
        return true;
      });
    }
  }
  return value;
}

/** Tries until it is true; being unavailable is not yet false. */
async function eventually(check: () => Promise<boolean>): Promise<void> {
  const start = performance.now();
  for (;;) {
    try {
      if (await check()) return;
    } catch (error) {
      if (!(error instanceof StoreError) || error.problem.code !== "Unavailable") throw error;
    }
    assert.ok(performance.now() - start < 20_000, "it did not come true in time");
    await sleep(20);
  }
}

interface Alarm {
  member: bigint;
  alarm: number;
}
const ALARM_DEACTIVATE = 2;
const alarm: Method<Alarm & { action: number }, { alarms: Alarm[] }> = {
  path: "/etcdserverpb.Maintenance/Alarm",
  request: defineMessage<Alarm & { action: number }>({
    action: [1, "int"],
    member: [2, "int64"],
    alarm: [3, "int"],
  }),
  response: defineMessage<{ alarms: Alarm[] }>({
    alarms: [2, { many: defineMessage<Alarm>({ member: [1, "int64"], alarm: [2, "int"] }) }],
  }),
};
const defragment: Method<object, object> = {
  path: "/etcdserverpb.Maintenance/Defragment",
  request: defineMessage<object>({}),
  response: defineMessage<object>({}),
};
