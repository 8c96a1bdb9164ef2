import assert from "node:assert/strict";
import { test } from "vitest";
import type { ConfigMap } from "#api/generated/core.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { eventKind } from "#api/kinds/core/v1/event/event.ts";
import { badRequestStatus, failure } from "#api/meta/status.ts";
import { createLogger, silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Client } from "./client.ts";
import { ServerEventRecorder } from "./event-recorder.ts";
import { type Transport, TransportError } from "./transport.ts";

async function setUp(): Promise<{
  cluster: Cluster;
  about: ConfigMap;
  say(message: string): void;
  record(about: ConfigMap, message: string): void;
  end(): void;
}> {
  const cluster = await startCluster();
  const about = await cluster.seed(configMapKind, { metadata: { name: "subject" } });
  const recorder = new ServerEventRecorder(cluster.client, cluster.clock, silentLogger, "host");
  const life = new AbortController();
  void recorder.run(life.signal);
  const record = (of: ConfigMap, message: string): void =>
    recorder.record("tester", { about: of, type: "Normal", reason: "Said", message });
  const say = (message: string): void => record(about, message);
  return { cluster, about, say, record, end: () => life.abort() };
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

test("events that wait for their turn are written when the recorder's signal aborts", async () => {
  await using cluster = await startCluster();
  const about = await cluster.seed(configMapKind, { metadata: { name: "subject" } });
  const waitForTurn = (_ageMs: number, signal: AbortSignal): Promise<void> =>
    cluster.clock.sleep(5_000, signal).catch(() => undefined);
  const options = { waitForTurn };
  const { client, clock } = cluster;
  const recorder = new ServerEventRecorder(client, clock, silentLogger, "host", options);
  const life = new AbortController();
  const done = recorder.run(life.signal);
  for (const message of ["a", "b"]) {
    recorder.record("tester", { about, type: "Normal", reason: "Said", message });
  }
  await cluster.settle();
  assert.deepEqual(cluster.list(eventKind), []);
  life.abort();
  await done;
  const events = cluster.list(eventKind);
  assert.deepEqual(events.map(({ message }) => message).sort(), ["a", "b"]);
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

test("event recorder: an object that has changed meanwhile is still the same object", async () => {
  const { cluster, about, record, end } = await setUp();
  record(about, "again");
  const metadata = { ...about.metadata, resourceVersion: "99" };
  record({ ...about, metadata }, "again");
  await cluster.settle();
  assert.deepEqual(
    cluster.list(eventKind).map(({ count }) => count),
    [2],
  );
  end();
  await cluster[Symbol.asyncDispose]();
});

test("Events that differ only in their message are combined from the tenth on, until ten minutes pass", async () => {
  const { cluster, say, end } = await setUp();
  const recorded = (): readonly unknown[] =>
    cluster
      .list(eventKind)
      .map(({ message, count }) => [message, count])
      .slice(8);
  for (let i = 1; i <= 15; i++) say(`number ${i}`);
  await cluster.settle();
  assert.deepEqual(recorded(), [
    ["number 9", 1],
    ["(combined from similar events): number 15", 6],
  ]);
  // The one that stands for several names its source only.
  assert.deepEqual(
    cluster
      .list(eventKind)
      .slice(8)
      .map(({ source, reportingComponent }) => [source?.component, reportingComponent]),
    [
      ["tester", "tester"],
      ["tester", ""],
    ],
  );
  await cluster.advance(600_000);
  say("number 16");
  await cluster.settle();
  assert.deepEqual(recorded()[1], ["(combined from similar events): number 16", 7]);
  await cluster.advance(600_001);
  say("number 17");
  await cluster.settle();
  assert.deepEqual(recorded()[2], ["number 17", 1]);
  end();
  await cluster[Symbol.asyncDispose]();
});

test("event recorder: a source that talks too much about one object is cut off, but counted", async () => {
  const { cluster, say, end } = await setUp();
  const counts = (): readonly unknown[] => cluster.list(eventKind).map(({ count }) => count);
  for (let i = 0; i < 40; i++) say("spam");
  await cluster.settle();
  assert.deepEqual(counts(), [25]);
  await cluster.advance(300_000);
  say("spam");
  await cluster.settle();
  assert.deepEqual(counts(), [41]);
  end();
  await cluster[Symbol.asyncDispose]();
});

test("Events are retried while the server cannot be reached", async () => {
  const cluster = await startCluster();
  const about = await cluster.seed(configMapKind, { metadata: { name: "subject" } });
  let isAway = true;
  const transport: Transport = {
    ...cluster.transport,
    send: (call, signal) =>
      isAway ? Promise.reject(new TransportError("away")) : cluster.transport.send(call, signal),
  };
  const { clock } = cluster;
  const client = new Client({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const lines: string[] = [];
  const logger = createLogger({
    level: "info",
    clock,
    format: "json",
    write: (line) => lines.push(line),
  });
  const recorder = new ServerEventRecorder(client, clock, logger);
  const life = new AbortController();
  const running = recorder.run(life.signal);
  recorder.record("tester", { about, type: "Normal", reason: "Said", message: "late" });
  await cluster.advance(60_000);
  assert.deepEqual(cluster.names(eventKind), []);
  assert.match(lines[0] ?? "", /"level":"warn".*an event could not be written, it is tried again/);
  isAway = false;
  await cluster.advance(10_000);
  assert.equal(cluster.list(eventKind)[0]?.firstTimestamp, "2030-01-01T00:00:00Z");
  life.abort();
  await running;
  await cluster[Symbol.asyncDispose]();
});

test("event recorder: what the server refuses is given up, and logged", async () => {
  const cluster = await startCluster();
  const about = await cluster.seed(configMapKind, { metadata: { name: "subject" } });
  const lines: string[] = [];
  const { clock } = cluster;
  const transport: Transport = {
    ...cluster.transport,
    send: async () => failure(badRequestStatus("not today")),
  };
  const client = new Client({ transport, clock, random: seededRandom(1), fieldManager: "test" });
  const write = (line: string): void => void lines.push(line);
  const logger = createLogger({ level: "info", clock, format: "json", write });
  const recorder = new ServerEventRecorder(client, clock, logger);
  const life = new AbortController();
  const running = recorder.run(life.signal);
  recorder.record("tester", { about, type: "Normal", reason: "Said", message: "odd" });
  await cluster.settle();
  assert.equal(lines.length, 1);
  assert.match(
    lines[0]!,
    /"level":"error".*the server refused an event.*ConfigMap default\/subject.*not today/,
  );
  life.abort();
  await running;
  await cluster[Symbol.asyncDispose]();
});
