import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { Audit, type Stored } from "../audit/audit.ts";
import { textAnswer } from "../response/answer.ts";
import type { Tables } from "../response/table.ts";
import { withFlowAndAudit } from "./flow-and-audit.ts";
import type { ApiRequest } from "./request.ts";
import { requestInfoOf } from "./request-info.ts";

const request: ApiRequest = {
  method: "GET",
  path: "/version",
  query: new URLSearchParams(),
  headers: {},
  body: { form: "none" },
  peer: { address: "127.0.0.1" },
  signal: new AbortController().signal,
};

/** A request under an audit log that makes requests wait; `store` says what comes of each event. */
async function ask(store: (stage: string) => Stored) {
  const order: string[] = [];
  const audit = new Audit({
    policy: { rules: [{ level: "Metadata" }] },
    clock: new VirtualClock(0),
    random: seededRandom(1),
    waits: true,
    write(line) {
      const { stage } = JSON.parse(line) as { stage: string };
      const stored = store(stage);
      return stored?.then((good) => {
        order.push(stage);
        return good;
      });
    },
  });
  const info = requestInfoOf(request.method, request.path, request.query);
  const frame = { security: { audit }, tables: {} as Tables }; // not used here
  const identity = { user: { name: "jane", groups: [] } };
  const answer = await withFlowAndAudit(frame, request, info, identity, 0, async () => {
    order.push("work");
    return textAnswer(200, "ok");
  });
  order.push("answer");
  answer.sent?.();
  return { order, code: answer.code };
}

describe("a blocking audit log", () => {
  test("gets its events before the request is processed and before the response is sent", async () => {
    const { order, code } = await ask(async () => true);
    assert.equal(code, 200);
    assert.deepEqual(order, ["RequestReceived", "work", "ResponseComplete", "answer"]);
  });

  test("fails a request whose audit event cannot be written", async () => {
    const { order, code } = await ask(async () => false);
    assert.equal(code, 500);
    assert.deepEqual(order, ["RequestReceived", "answer"]);
  });

  test("does not take back what was done", async () => {
    const { order, code } = await ask(async (stage) => stage === "RequestReceived");
    assert.equal(code, 200);
    assert.deepEqual(order, ["RequestReceived", "work", "ResponseComplete", "answer"]);
  });
});
