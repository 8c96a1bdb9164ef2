import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "vitest";
import { deferred } from "#lib/async/deferred.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { LiveMessage } from "./messages.ts";
import { subscribeOverview } from "./overview-subscription.ts";

const NODE = { metadata: { uid: "n", name: "node-1" } };

function answerOf(body: object): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.statusCode = 200;
  message.push(JSON.stringify(body));
  message.push(null);
  return message;
}

test("overview: the first message has nodes, and comes before pods and Events are asked for", async () => {
  const life = new AbortController();
  const asked: string[] = [];
  const first = deferred<LiveMessage>();
  const nodes = deferred<IncomingMessage>();
  const untilEnded = (): Promise<IncomingMessage> =>
    new Promise((_, reject) =>
      life.signal.addEventListener("abort", () => reject(new Error("ended"))),
    );
  const api = {
    watch: untilEnded,
    get: async (path: string) => {
      asked.push(path.split("?")[0]!);
      if (path.startsWith("/api/v1/nodes?limit")) return await nodes.promise;
      return await untilEnded();
    },
  };
  using clock = new VirtualClock();
  const options = {
    ...{ id: 1, clock, random: seededRandom(1), path: "", api: api as never },
    send: async (message: LiveMessage) => first.resolve(message),
  };
  const { done } = subscribeOverview(options, life.signal);
  assert.deepEqual(asked, ["/api/v1/nodes"]);
  nodes.resolve(answerOf({ metadata: { resourceVersion: "1" }, items: [NODE] }));
  const message = await first.promise;
  assert.equal(message.type === "overview" && message.figures.nodes.total, 1);
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(asked.includes("/api/v1/pods") && asked.includes("/api/v1/events"), `${asked}`);
  life.abort();
  await done;
});

test("overview: usage is left out until the metrics server has measured a node", async () => {
  const life = new AbortController();
  const messages: LiveMessage[] = [];
  const untilEnded = (): Promise<IncomingMessage> =>
    new Promise((_, reject) =>
      life.signal.addEventListener("abort", () => reject(new Error("ended"))),
    );
  const measured = [[], [{ usage: { cpu: "500m", memory: "1Gi" } }]];
  const api = {
    watch: untilEnded,
    get: async (path: string) => {
      if (path.startsWith("/apis/metrics.k8s.io/")) return answerOf({ items: measured.shift() });
      if (!path.startsWith("/api/v1/nodes?")) return await untilEnded();
      return answerOf({ metadata: { resourceVersion: "1" }, items: [NODE] });
    },
  };
  using clock = new VirtualClock();
  const options = {
    ...{ id: 1, clock, random: seededRandom(1), path: "", api: api as never },
    send: async (message: LiveMessage) => void messages.push(message),
  };
  const { done } = subscribeOverview(options, life.signal);
  const used = () => messages.flatMap((each) => (each.type === "overview" ? [each.used] : []));
  await clock.advance(2_000);
  assert.deepEqual([...new Set(used())], [undefined]);
  await clock.advance(15_000);
  assert.deepEqual(used().at(-1), { cpuCores: 0.5, memoryBytes: 2 ** 30 });
  life.abort();
  await done;
});
