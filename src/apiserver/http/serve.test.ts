import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { test } from "vitest";
import { SharedTurn } from "#lib/async/shared-turn.ts";
import { textAnswer } from "../response/answer.ts";
import type { HttpRequest, Reply } from "./exchange.ts";
import { type Serving, serve } from "./serve.ts";

const MB = 1024 * 1024;

test("HTTP server: a request that has been answered is gone with the next collection of the young", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: object) => void;
  const collectYoung = (): void => collect({ type: "minor" });
  const answered = async (count: number): Promise<number> => {
    for (let n = 0; n < count; n++) {
      await serve(serving as Serving, requestWithBallast(), reply as Reply);
      if (n % 50 === 0) collectYoung();
    }
    for (let round = 0; round < 3; round++) collectYoung();
    return process.memoryUsage().heapUsed;
  };
  const before = await answered(100);
  const after = await answered(1_000);
  // Together they were 40 MB.
  assert.ok(after - before < 8 * MB, `${(after - before) / MB} MB are left of 1000 requests`);
});

test("HTTP server: a body of several megabytes is written in pieces of at most 1 MiB, with its length", async () => {
  const text = "x".repeat(2.5 * MB);
  const pieces: number[] = [];
  let length: unknown;
  const large: Partial<Serving> = { ...serving, handle: async () => textAnswer(200, text) };
  const received: Partial<Reply> = {
    started: false,
    start: (_code, headers) => {
      length = headers["content-length"];
    },
    write: (bytes) => pieces.push(bytes.length) > 0,
    end: () => undefined,
  };
  await serve(large as Serving, requestWithBallast(), received as Reply);
  assert.deepEqual(pieces, [MB, MB, MB / 2]);
  assert.equal(length, String(text.length));
});

const serving: Partial<Serving> = {
  handle: async () => textAnswer(200, "ok"),
  newAuditId: () => "audit",
  turn: new SharedTurn(),
};

const reply: Partial<Reply> = { started: false, send: () => undefined };

function requestWithBallast(): HttpRequest {
  const request: Partial<HttpRequest> & { ballast: object } = {
    method: "GET",
    url: "/api/v1/pods",
    headers: {},
    rawHeaders: [],
    peer: { address: "" },
    gone: false,
    ballast: Array.from({ length: 1_000 }, (_, n) => ({ n })),
  };
  return request as HttpRequest;
}
