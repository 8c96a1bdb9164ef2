import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { startCluster } from "#testing/cluster.ts";
import { defineController, idle, ownKey } from "./controller.ts";
import { Runtime } from "./run.ts";

function listener(seen: string[]) {
  return defineController({
    name: "listener",
    feeds: [{ kind: configMapKind, keys: ownKey }],
    resyncMs: 60_000,
    observe: (_caches, { name }) => void seen.push(name),
    decide: () => idle,
  });
}

describe("a controller with resyncMs", () => {
  test("gets every object at that interval, changed or not", async () => {
    const seen: string[] = [];
    await using cluster = await startCluster({ controllers: [listener(seen)] });
    for (const name of ["a", "b"]) await cluster.seed(configMapKind, { metadata: { name } });
    seen.length = 0;
    await cluster.advance(59_999);
    assert.deepEqual(seen, []);
    await cluster.advance(1);
    assert.deepEqual(seen, ["a", "b"]);
    await cluster.advance(3_600_000);
    assert.equal(seen.length, 122);
  });

  test("ends with its signal, on the system's clock too", async () => {
    await using cluster = await startCluster();
    const runtime = new Runtime({
      client: cluster.client,
      clock: systemClock,
      random: seededRandom(1),
      logger: silentLogger,
      metrics: new Metrics(),
      recorder: { record: () => undefined },
    });
    const life = new AbortController();
    const seen: string[] = [];
    await cluster.seed(configMapKind, { metadata: { name: "a" } });
    const running = runtime.run([listener(seen)], life.signal);
    while (seen.length === 0) await systemClock.sleep(1);
    life.abort();
    await running;
    await systemClock.sleep(1); // what a listener throws is thrown a tick later
  });
});
