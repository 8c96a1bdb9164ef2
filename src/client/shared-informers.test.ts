import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Client } from "./client.ts";
import { SharedInformers } from "./shared-informers.ts";
import type { Transport } from "./transport.ts";

/** Counts the watches that are open. */
function counted(inner: Transport): { transport: Transport; open(): number; started(): number } {
  let open = 0;
  let started = 0;
  return {
    open: () => open,
    started: () => started,
    transport: {
      ...inner,
      async *watch(call, signal) {
        open += 1;
        started += 1;
        try {
          yield* inner.watch(call, signal);
        } finally {
          open -= 1;
        }
      },
    },
  };
}

function informersOf(cluster: Cluster, transport: Transport): SharedInformers {
  const { clock } = cluster;
  const random = seededRandom(1);
  const client = new Client({ transport, clock, random, fieldManager: "test" });
  return new SharedInformers({ client, clock, random, logger: silentLogger });
}

test("shared informers: two holders of one kind share one watch, which ends with the last of them", async () => {
  await using cluster = await startCluster();
  await cluster.seed(configMapKind, { metadata: { name: "a" } });
  const { transport, open, started } = counted(cluster.transport);
  const informers = informersOf(cluster, transport);
  const [first, second] = [new AbortController(), new AbortController()];

  const one = informers.hold(configMapKind, {}, first.signal);
  const two = informers.hold(configMapKind, {}, second.signal);
  await one.informer.synced;
  assert.equal(one.informer, two.informer);
  assert.equal(started(), 1);

  first.abort();
  await one.released;
  assert.equal(open(), 1, "the second holder still watches");
  await cluster.seed(configMapKind, { metadata: { name: "b" } });
  assert.equal(two.informer.cache.get("default", "b")?.metadata.name, "b");

  second.abort();
  await two.released;
  assert.equal(open(), 0);
  assert.equal(informers.find(configMapKind), undefined);
});

test("shared informers: another selector is another watch with its own objects", async () => {
  await using cluster = await startCluster();
  await cluster.seed(configMapKind, { metadata: { name: "a", labels: { app: "x" } } });
  await cluster.seed(configMapKind, { metadata: { name: "b" } });
  const life = new AbortController();
  const { transport, started } = counted(cluster.transport);
  const informers = informersOf(cluster, transport);

  const all = informers.hold(configMapKind, {}, life.signal);
  const some = informers.hold(configMapKind, { labelSelector: "app=x" }, life.signal);
  await Promise.all([all.informer.synced, some.informer.synced]);
  assert.equal(started(), 2);
  assert.equal(all.informer.cache.size, 2);
  assert.deepEqual(
    [...some.informer.cache.list()].map(({ metadata }) => metadata.name),
    ["a"],
  );

  life.abort();
  await Promise.all([all.released, some.released]);
});

test("shared informers: a listener added with the hold sees every object", async () => {
  await using cluster = await startCluster();
  await cluster.seed(configMapKind, { metadata: { name: "a" } });
  const life = new AbortController();
  const informers = informersOf(cluster, cluster.transport);
  const seen: (string | undefined)[] = [];
  const { informer, released } = informers.hold(configMapKind, {}, life.signal);
  informer.on(({ next }) => void seen.push(next?.metadata.name));
  await informer.synced;
  assert.deepEqual(seen, ["a"]);
  life.abort();
  await released;
});
