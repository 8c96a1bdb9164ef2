import assert from "node:assert/strict";
import { test } from "vitest";
import { deferred } from "#lib/async/deferred.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "#store/memory.ts";
import { startTestApi } from "../api.testing.ts";
import { TimeLimit } from "./time-limit.ts";

test("API request: work that takes too long is not waited for", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const limit = new TimeLimit(clock, 1_000);
  const late = (): string => "late";
  const work = deferred<string>();
  const first = limit.within(work.promise, late);
  const second = limit.within(Promise.resolve("done"), late);
  const third = limit.within(Promise.reject(new Error("broken")), late);
  await assert.rejects(third, /broken/);
  assert.equal(await second, "done");
  await clock.advance(1_000);
  assert.equal(await first, "late");
  work.resolve("too late");
  assert.equal(await first, "late");
});

test("API request: a write has less time than its request; deleting a collection has all of it", async () => {
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const store = createMemoryStore({ clock });
  await using server = await startTestApi({ store });
  const path = "/api/v1/namespaces/default/configmaps";
  const body = { kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" } };
  await server.want(201, "POST", path, { body });

  const never = (): Promise<never> => new Promise(() => undefined);
  Object.assign(store, { put: never, delete: never, transact: never });
  const create = server.ask("POST", path, { body: { ...body, metadata: { name: "b" } } });
  const remove = server.ask("DELETE", `${path}/a`);
  let collection = "waits";
  void server.ask("DELETE", path).then(() => (collection = "answered"));
  await server.clock.advance(33_999);
  await server.clock.advance(1);
  for (const { code, body } of await Promise.all([create, remove])) {
    assert.equal(code, 504);
    assert.deepEqual(body, {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message:
        "Timeout: request did not complete within requested timeout - context deadline exceeded",
      reason: "Timeout",
      details: {},
      code: 504,
    });
  }
  assert.equal(collection, "waits");
});
