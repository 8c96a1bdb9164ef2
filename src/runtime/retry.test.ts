/** What the runtime does about refused writes: backoff, decideRefused, a fresh start after success. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { startCluster } from "#testing/cluster.ts";
import { type Controller, defineController, type Outcome, ownKey } from "./controller.ts";
import { Runtime } from "./run.ts";
import { create, patch, update } from "./writes.ts";

const START = "2030-01-01T00:00:00Z";

describe("a reconcile whose write is refused", () => {
  test("is repeated after a Conflict with what the cache shows by then", async () => {
    let attempts = 0;
    const labels = deciding((map) => {
      if (map.data?.done === "yes") return {};
      attempts++;
      const stale = { ...map.metadata, resourceVersion: "1" };
      const metadata = attempts === 1 ? stale : map.metadata;
      return { writes: [update(configMapKind, { ...map, metadata, data: { done: "yes" } })] };
    });
    await using cluster = await startCluster({ controllers: [labels] });
    await cluster.seed(configMapKind, { metadata: { name: "a" } });
    assert.equal(attempts, 1);
    assert.equal(cluster.runtime.decisions.about()[0]?.refused?.why.split(":")[0], "Conflict");
    await cluster.advance(5);
    assert.equal(attempts, 2);
    assert.deepEqual(cluster.get(configMapKind, "a")?.data, { done: "yes" });
  });

  test("is repeated after 5, 10, 20, 40 ms …, and starts again with 5 ms after a success", async () => {
    const atMs: number[] = [];
    const creating = deciding(({ data }, nowMs) => {
      atMs.push(nowMs - Date.parse(START));
      return data?.valid === "yes" ? {} : { writes: [create(configMapKind, INVALID)] };
    });
    await using cluster = await startCluster({ at: START, controllers: [creating] });
    await cluster.seed(configMapKind, { metadata: { name: "a" } });
    await cluster.advance(155);
    assert.deepEqual(atMs, [0, 5, 15, 35, 75, 155]);
    await cluster.edit(configMapKind, "a", (map) => void (map.data = { valid: "yes" }));
    await cluster.advance(845);
    atMs.length = 0;
    await cluster.edit(configMapKind, "a", (map) => void (map.data = {}));
    await cluster.advance(15);
    assert.deepEqual(atMs, [1_000, 1_005, 1_015]);
  });

  test("has the writes and events of decideRefused carried out", async () => {
    const refusals: (string | undefined)[] = [];
    const reporting = deciding((map) => {
      if (map.data?.failed !== undefined) return {};
      return { writes: [create(configMapKind, INVALID), create(configMapKind, named("never"))] };
    });
    const decideRefused: (typeof reporting)["decideRefused"] = (map, { write, status }) => {
      refusals.push(status.reason);
      assert.deepEqual(write, create(configMapKind, INVALID));
      return {
        writes: [patch(configMapKind, map!, "merge", { data: { failed: status.reason } })],
        events: [{ about: map!, type: "Warning", reason: "FailedCreate", message: "no" }],
      };
    };
    await using cluster = await startCluster({ controllers: [{ ...reporting, decideRefused }] });
    await cluster.seed(configMapKind, { metadata: { name: "a" } });
    assert.deepEqual(refusals, ["Invalid"]);
    assert.deepEqual(cluster.names(configMapKind), ["a"]);
    assert.deepEqual(cluster.get(configMapKind, "a")?.data, { failed: "Invalid" });
    assert.deepEqual(
      cluster.events.map(({ component, name, reason }) => [component, name, reason]),
      [["deciding", "a", "FailedCreate"]],
    );
    await cluster.advance(1_000);
    assert.deepEqual(refusals, ["Invalid"]);
  });

  test("does not call decideRefused when all its writes succeed", async () => {
    const creating = deciding((map) =>
      map.metadata.name === "a"
        ? { writes: [patch(configMapKind, map, "merge", { data: { seen: "yes" } })] }
        : {},
    );
    const decideRefused = () => assert.fail("nothing was refused");
    await using cluster = await startCluster({ controllers: [{ ...creating, decideRefused }] });
    await cluster.seed(configMapKind, { metadata: { name: "a" } });
    assert.deepEqual(cluster.get(configMapKind, "a")?.data, { seen: "yes" });
    assert.deepEqual(
      cluster.runtime.decisions.about().filter(({ error }) => error !== undefined),
      [],
    );
  });
});

test("observe sees what the last reconcile created, even if the watch is 100 ms late", async () => {
  const children = defineController<{ parent: ConfigMap | undefined; count: number }>({
    name: "children",
    feeds: [{ kind: configMapKind, keys: () => [{ namespace: "default", name: "parent" }] }],
    observe: (caches, { namespace, name }) => ({
      parent: caches(configMapKind).get(namespace, name),
      count: [...caches(configMapKind).list()].length - 1,
    }),
    decide: ({ parent, count }) => {
      if (parent === undefined || count >= 5) return {};
      const metadata = { namespace: "default", generateName: "child-" };
      // Without the wait for its own writes the recheck would come first and create too many.
      return { writes: [create(configMapKind, { metadata })], recheckInMs: 1 };
    },
  });
  await using cluster = await startCluster();
  const { clock } = cluster;
  const random = seededRandom(1);
  const transport = withLateWatch(cluster.transport, clock, 100);
  const runtime = new Runtime({
    client: new Client({ transport, clock, random, fieldManager: "test" }),
    clock,
    random,
    logger: silentLogger,
    metrics: new Metrics(),
    recorder: { record: () => undefined },
  });
  const life = new AbortController();
  const running = runtime.run([children], life.signal);
  await cluster.seed(configMapKind, { metadata: { name: "parent" } });
  await cluster.advance(10_000);
  assert.equal(cluster.names(configMapKind).length, 6);
  life.abort();
  await running;
});

function withLateWatch(server: Transport, clock: Clock, lateMs: number): Transport {
  return {
    send: (call, signal) => server.send(call, signal),
    raw: (path, signal) => server.raw(path, signal),
    async *watch(call, signal) {
      for await (const events of server.watch(call, signal)) {
        await clock.sleep(lateMs, signal);
        yield events;
      }
    },
  };
}

const INVALID: ConfigMap = named("Not_A_Name");

function named(name: string): ConfigMap {
  return { metadata: { namespace: "default", name } };
}

function deciding(
  decide: (map: ConfigMap, nowMs: number) => Outcome,
): Controller<ConfigMap | undefined> {
  return defineController<ConfigMap | undefined>({
    name: "deciding",
    feeds: [{ kind: configMapKind, keys: ownKey }],
    observe: (caches, { namespace, name }) => caches(configMapKind).get(namespace, name),
    decide: (map, nowMs) => (map === undefined ? {} : decide(map, nowMs)),
  });
}
