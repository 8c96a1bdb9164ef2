import assert from "node:assert/strict";
import { test } from "vitest";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { badRequestStatus, expiredStatus } from "#api/meta/status.ts";
import { silentLogger } from "#lib/logger.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Client } from "./client.ts";
import { Informer } from "./informer.ts";
import { Reflector, type ReflectorStore } from "./reflector.ts";
import { type Transport, TransportError, type WatchCall, type WatchEvent } from "./transport.ts";

interface Faults {
  /** No streaming lists, as servers before 1.32. */
  readonly old: boolean;
  /** Chances, for each event: the connection breaks, the history is gone, the event is late. */
  readonly breaks: number;
  readonly expires: number;
  readonly delays: number;
}

/** A server that loses connections and history and is slow, but never lies and keeps the order. */
function flaky(inner: Transport, faults: Faults, clock: Clock, random: Random): Transport {
  return {
    ...inner,
    send: (call, signal) =>
      random.next() < faults.breaks
        ? Promise.reject(new TransportError("broken"))
        : inner.send(call, signal),
    watch: (call, signal) => watch(call, signal),
  };
  async function* watch(
    call: WatchCall,
    signal: AbortSignal,
  ): AsyncGenerator<readonly WatchEvent[]> {
    if (faults.old && call.query.sendInitialEvents !== undefined) {
      yield [{ type: "ERROR", object: badRequestStatus("sendInitialEvents is forbidden") }];
      return;
    }
    for await (const event of single(inner.watch(call, signal))) {
      if (random.next() < faults.breaks) throw new TransportError("broken");
      if (random.next() < faults.expires) {
        yield [{ type: "ERROR", object: expiredStatus("too old resource version") }];
        return;
      }
      if (random.next() < faults.delays) await clock.sleep(random.integer(2_000), signal);
      yield [event];
    }
  }
}

async function* single(batches: AsyncIterable<readonly WatchEvent[]>): AsyncGenerator<WatchEvent> {
  for await (const events of batches) yield* events;
}

async function changeSomething(cluster: Cluster, random: Random): Promise<void> {
  const name = `m${random.integer(12)}`;
  const key = { namespace: "default", name };
  const existing = cluster.get(configMapKind, name);
  const data = { value: String(random.integer(1e9)) };
  if (existing === undefined) {
    await cluster.client.create(configMapKind, { metadata: key, data } as ConfigMap);
  } else if (random.next() < 0.3) await cluster.client.delete(configMapKind, key);
  else await cluster.client.patch(configMapKind, key, "merge", { data });
}

/** Believes everything that it is given, as stores that keep no revisions do. */
function plainStore() {
  const values = new Map<string, string | undefined>();
  const store: ReflectorStore<ConfigMap> = {
    put: ({ metadata, data }) => values.set(metadata.name ?? "", data?.value),
    remove: ({ metadata }) => values.delete(metadata.name ?? ""),
    retain: (current) => {
      for (const name of values.keys()) if (!current.has(`default/${name}`)) values.delete(name);
    },
  };
  return { store, values };
}

const worlds: { name: string; faults: Faults }[] = [
  { name: "a good server", faults: { old: false, breaks: 0, expires: 0, delays: 0 } },
  { name: "lost connections", faults: { old: false, breaks: 0.1, expires: 0, delays: 0.2 } },
  {
    name: "lost connections and history",
    faults: { old: false, breaks: 0.05, expires: 0.05, delays: 0.3 },
  },
  {
    name: "an old server with all of that",
    faults: { old: true, breaks: 0.1, expires: 0.05, delays: 0.3 },
  },
];

for (const { name, faults } of worlds) {
  test(`informer and reflector miss nothing: ${name}`, async () => {
    for (let seed = 1; seed <= 6; seed++) {
      await using cluster = await startCluster({ seed });
      const random = seededRandom(seed);
      const { clock } = cluster;
      const transport = flaky(cluster.transport, faults, clock, random);
      const client = new Client({ transport, clock, random, fieldManager: "test" });
      const informer = new Informer<ConfigMap>({
        client,
        kind: configMapKind,
        clock,
        random,
        logger: silentLogger,
      });
      const life = new AbortController();
      // Replays its events: after each step the replay must equal the cache.
      const replay = new Map<string, string | undefined>();
      informer.on(({ next, old }) => {
        const key = (next ?? old)?.metadata.name ?? "";
        assert.equal(old === undefined, !replay.has(key), `seed ${seed}: ${key}`);
        if (next === undefined) replay.delete(key);
        else replay.set(key, next.data?.value);
      });
      const running = informer.run(life.signal);
      const { store, values } = plainStore();
      const reflector = new Reflector<ConfigMap>({
        ...{ client, kind: configMapKind, clock, random, logger: silentLogger, store },
      });
      const reflecting = reflector.run(life.signal);
      for (let i = 0; i < 60; i++) {
        await changeSomething(cluster, random);
        if (random.next() < 0.5) await cluster.advance(random.integer(5_000));
      }
      await cluster.advance(600_000); // time for every retry
      const truth = new Map(
        cluster.list(configMapKind).map(({ metadata, data }) => [metadata.name ?? "", data?.value]),
      );
      assert.deepEqual(new Map([...replay].sort()), new Map([...truth].sort()), `seed ${seed}`);
      assert.deepEqual(new Map([...values].sort()), new Map([...truth].sort()), `seed ${seed}`);
      assert.deepEqual(
        [...informer.cache.list()].map(({ metadata }) => metadata.resourceVersion).sort(),
        cluster
          .list(configMapKind)
          .map(({ metadata }) => metadata.resourceVersion)
          .sort(),
      );
      assert.ok(informer.isSynced && reflector.isSynced);
      life.abort();
      await cluster.settle();
      await Promise.all([running, reflecting]);
    }
  });
}

test("informer: listeners get every object again at each resync", async () => {
  await using cluster = await startCluster();
  await cluster.seed(configMapKind, { metadata: { name: "a" } });
  const { clock, client } = cluster;
  const random = seededRandom(1);
  const informer = new Informer<ConfigMap>({
    client,
    kind: configMapKind,
    clock,
    random,
    logger: silentLogger,
    resyncMs: 60_000,
  });
  const life = new AbortController();
  let again = 0;
  informer.on(({ next, old }) => {
    if (next !== undefined && next === old) again += 1;
  });
  const running = informer.run(life.signal);
  await cluster.advance(180_000);
  assert.equal(again, 3);
  life.abort();
  await running;
});
