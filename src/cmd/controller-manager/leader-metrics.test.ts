import assert from "node:assert/strict";
import { test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { startCluster } from "#testing/cluster.ts";
import { withLeaderMetric } from "./leader-metrics.ts";
import { runControllers } from "./run-controllers.ts";

test("a controller manager that is elected again runs again, and leader_election_master_status follows", async () => {
  await using cluster = await startCluster();
  const { client, clock } = cluster;
  const metrics = new Metrics();
  const rest = { clock, random: seededRandom(1), logger: silentLogger, controllers: [] };
  const lead = withLeaderMetric(metrics, "boss", (signal) =>
    runControllers({ ...rest, client, metrics, collectGarbage: false }, signal),
  );
  const status = (): string | undefined =>
    /^leader_election_master_status\{name="boss"\} (.*)$/m.exec(metrics.text())?.[1];
  assert.equal(status(), "0");
  for (const _term of [1, 2]) {
    const term = new AbortController();
    const work = lead(term.signal);
    await cluster.settle();
    assert.equal(status(), "1");
    assert.match(metrics.text(), /^# TYPE workqueue_depth gauge$/m);
    term.abort();
    await work;
    assert.equal(status(), "0");
  }
});
