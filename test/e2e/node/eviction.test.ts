/** Eviction on a real node: a threshold that is crossed from the start. */
import assert from "node:assert/strict";
import { test } from "vitest";
import { NODE, startNodeCluster } from "./cluster.ts";
import { until } from "./eventually.ts";
import { BUSYBOX } from "./runtime.ts";

test("evictionHard memory.available: MemoryPressure, the pod is Evicted, the next one refused", async () => {
  await using cluster = await startNodeCluster(() => [
    ...["--eviction-hard", "memory.available<100000Gi"],
  ]);
  const run = (name: string): Promise<string> =>
    cluster.kubectl(
      ...["run", name, `--image=${BUSYBOX}`, "--image-pull-policy=Never"],
      `--overrides={"spec":{"nodeName":"${NODE}"}}`,
    );
  await run("victim");
  await until(async () => (await cluster.pod("victim")).status.phase === "Failed");
  const { status } = await cluster.pod("victim");
  assert.equal(status.reason, "Evicted");
  assert.match(status.message ?? "", /The node was low on resource: memory|MemoryPressure/);
  const path = `{.status.conditions[?(@.type=="MemoryPressure")].status}`;
  await until(
    async () => (await cluster.kubectl("get", "node", NODE, "-o", `jsonpath=${path}`)) === "True",
  );
  await run("late");
  await until(async () => (await cluster.pod("late")).status.phase === "Failed");
  const late = await cluster.pod("late");
  assert.deepEqual(
    [late.status.reason, late.status.message],
    ["Evicted", "Pod was rejected: The node had condition: [MemoryPressure]. "],
  );
}, 120_000);
