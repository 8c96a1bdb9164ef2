import assert from "node:assert/strict";
import { test } from "vitest";
import { configMapKind } from "#api/core/v1/config-map.ts";
import { eventKind } from "#api/core/v1/event.ts";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { ServerEventRecorder } from "./event-recorder.ts";

async function setUp(): Promise<{
  cluster: Cluster;
  about: ConfigMap;
  say(message: string): void;
  end(): void;
}> {
  const cluster = await startCluster();
  const about = await cluster.seed(configMapKind, { metadata: { name: "subject" } });
  const recorder = new ServerEventRecorder(cluster.client, cluster.clock, "host");
  const life = new AbortController();
  void recorder.run(life.signal);
  const say = (message: string): void =>
    recorder.record("tester", { about, type: "Normal", reason: "Said", message });
  return { cluster, about, say, end: () => life.abort() };
}

test("events of one moment are all written, about the object and from the component", async () => {
  const { cluster, about, say, end } = await setUp();
  for (const message of ["a", "b", "c"]) say(message);
  await cluster.settle();
  const events = cluster.list(eventKind);
  assert.deepEqual(events.map(({ message }) => message).sort(), ["a", "b", "c"]);
  const [first] = events;
  assert.deepEqual(
    [
      first?.involvedObject.name,
      first?.involvedObject.uid,
      first?.source?.component,
      first?.source?.host,
      first?.count,
    ],
    ["subject", about.metadata.uid, "tester", "host", 1],
  );
  end();
  await cluster[Symbol.asyncDispose]();
});

test("the same event again raises its count", async () => {
  const { cluster, say, end } = await setUp();
  for (let i = 0; i < 3; i++) say("again");
  await cluster.settle();
  assert.deepEqual(
    cluster.list(eventKind).map(({ message, count }) => [message, count]),
    [["again", 3]],
  );
  end();
  await cluster[Symbol.asyncDispose]();
});

test("many that differ only in their text are combined", async () => {
  const { cluster, say, end } = await setUp();
  for (let i = 0; i < 15; i++) say(`number ${i}`);
  await cluster.settle();
  const messages = cluster.list(eventKind).map(({ message }) => message ?? "");
  assert.equal(messages.filter((message) => !message.startsWith("(combined")).length, 10);
  end();
  await cluster[Symbol.asyncDispose]();
});

test("a source that talks too much about one object is cut off, and may speak again later", async () => {
  const { cluster, say, end } = await setUp();
  for (let i = 0; i < 40; i++) say("spam");
  await cluster.settle();
  assert.deepEqual(
    cluster.list(eventKind).map(({ count }) => count),
    [25],
  );
  await cluster.advance(300_000);
  say("spam");
  await cluster.settle();
  assert.deepEqual(
    cluster.list(eventKind).map(({ count }) => count),
    [26],
  );
  end();
  await cluster[Symbol.asyncDispose]();
});
