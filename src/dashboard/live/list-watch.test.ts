import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { ApiAccess } from "../api-access.ts";
import { type Change, listWatch } from "./list-watch.ts";

function answerOf(statusCode: number, text: string): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.statusCode = statusCode;
  const half = text.length >> 1;
  for (const part of [text.slice(0, half), text.slice(half)]) message.push(part);
  message.push(null);
  return message;
}

/** The changes until the watch, and what was asked for. */
async function changesOf(answers: readonly IncomingMessage[]) {
  const life = new AbortController();
  const asked: string[] = [];
  const left = [...answers];
  const api: Pick<ApiAccess, "get" | "watch"> = {
    get: async (path) => {
      asked.push(path);
      return left.shift() ?? answerOf(500, "no more");
    },
    watch: async (path) => {
      asked.push(path);
      throw new Error("watched");
    },
  };
  using clock = new VirtualClock();
  const options = { api: api as ApiAccess, clock, random: seededRandom(1) };
  const changes: Change[] = [];
  const path = "/api/v1/pods";
  const followed = listWatch(
    { ...options, path, accept: "application/json", fields: true },
    life.signal,
  );
  for await (const change of followed) {
    changes.push(change);
    if (change.type === "failed") break;
  }
  life.abort();
  return { changes, asked };
}

test("listWatch: pages of different sizes come whole, with the continue token, then the watch from the last revision", async () => {
  const names = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `pod-${i}` }));
  const pages = [
    { metadata: { resourceVersion: "7", continue: "c 1" }, items: names(3) },
    { metadata: { resourceVersion: "7", continue: "c2" }, items: names(9_000) },
    { metadata: { resourceVersion: "8" }, items: names(1) },
  ];
  const { changes, asked } = await changesOf(
    pages.map((page) => answerOf(200, JSON.stringify(page))),
  );
  const values = changes.flatMap((change) => (change.type === "page" ? [change.value] : []));
  assert.deepEqual(values, pages);
  assert.deepEqual(
    changes.map(({ type }) => type),
    ["page", "page", "page", "synced", "failed"],
  );
  assert.deepEqual(asked, [
    "/api/v1/pods?limit=100",
    "/api/v1/pods?limit=1000&continue=c+1",
    "/api/v1/pods?limit=1000&continue=c2",
    "/api/v1/pods?watch=1&allowWatchBookmarks=true&resourceVersion=8",
  ]);
});

test("listWatch: the message of a refused list is the server's, and a huge one is cut off", async () => {
  const forbidden = JSON.stringify({ kind: "Status", message: "pods is forbidden" });
  const { changes } = await changesOf([answerOf(403, forbidden)]);
  assert.deepEqual(changes, [{ type: "failed", code: 403, message: "pods is forbidden" }]);
  const huge = await changesOf([answerOf(500, "x".repeat(1 << 20))]);
  assert.deepEqual(huge.changes, [
    { type: "failed", code: 500, message: "the API server answered 500" },
  ]);
});
