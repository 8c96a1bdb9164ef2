import assert from "node:assert/strict";
import { test } from "vitest";
import type { RequestInfo } from "../request/request.ts";
import type { FlowDecision } from "./concurrency-limiter.ts";
import { createMaxInFlight } from "./max-in-flight.ts";

const alice = { name: "alice", groups: [] };
const root = { name: "root", groups: ["system:masters"] };
const info = (verb: string, changes: Partial<RequestInfo> = {}): RequestInfo => ({
  isResource: true,
  verb,
  path: "",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "ns",
  name: "",
  rest: [],
  ...changes,
});
const never = new AbortController();

test("priority and fairness: max-in-flight: reads and writes have separate limits; system:masters and health checks have none", () => {
  const turns = createMaxInFlight({ reads: 1, writes: 1 });
  const ask = (user: typeof root, asked: RequestInfo): FlowDecision =>
    turns.admit(user, asked, never) as FlowDecision;
  const first = ask(alice, info("get"));
  assert.ok(first.outcome === "admitted");
  assert.deepEqual(ask(alice, info("list")), { outcome: "refused", retryAfterSeconds: 1 });
  assert.equal(ask(alice, info("create")).outcome, "admitted");
  assert.equal(ask(alice, info("update")).outcome, "refused");
  assert.equal(ask(alice, info("watch")).outcome, "admitted");
  assert.equal(ask(root, info("get")).outcome, "admitted");
  const health = info("get", { isResource: false, path: "/readyz" });
  assert.equal(ask(alice, health).outcome, "admitted");
  first.seat.release();
  assert.equal(ask(alice, info("get")).outcome, "admitted");
});
