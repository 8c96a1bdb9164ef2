import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import {
  defineController,
  idle,
  ownKey,
  recheckIn,
  resource,
  runController,
} from "./controller.ts";
import { type Cluster, startCluster } from "./testing.ts";

const DAY_MS = 86_400_000;
const configMaps = resource("v1", "ConfigMap", "configmaps");

test("runController: a controller over HTTPS waits by the clock that it is given", async () => {
  const seen: number[] = [];
  const controller = defineController<string>({
    name: "daily",
    rule: "the ConfigMap is looked at once a day",
    feeds: [{ kind: configMaps, keys: ownKey }],
    observe: (_caches, { name }) => name,
    decide: (name, nowMs) => {
      if (name !== "daily") return idle;
      seen.push(nowMs);
      return recheckIn(DAY_MS);
    },
  });
  await using cluster = await startCluster({ builtIn: false });
  const folder = await mkdtemp(join(tmpdir(), "k8ts-controller-"));
  const life = new AbortController();
  try {
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, await cluster.kubeconfig());
    const { clock } = cluster;
    const running = runController([controller], { kubeconfig, clock, signal: life.signal });
    const metadata = { name: "daily", namespace: "default" };
    await cluster.client.create(configMaps, { metadata });
    await until(cluster, () => seen.length === 1);
    await cluster.advance(DAY_MS - 1);
    assert.equal(seen.length, 1);
    await cluster.advance(1);
    await until(cluster, () => seen.length === 2);
    assert.equal(seen[1]! - seen[0]!, DAY_MS);
    life.abort();
    await running;
  } finally {
    life.abort();
    await rm(folder, { recursive: true });
  }
});

/** The connection is real, so turns of the event loop pass until it has brought the change. */
async function until(cluster: Cluster, isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await cluster.advance(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
