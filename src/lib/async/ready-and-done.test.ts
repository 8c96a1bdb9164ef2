import assert from "node:assert/strict";
import { test } from "vitest";
import { deferred } from "./deferred.ts";
import { readyAndDone } from "./ready-and-done.ts";

test("readyAndDone: ready resolves before done", async () => {
  const end = deferred<void>();
  const { ready, done } = readyAndDone(async (onReady) => {
    onReady();
    await end.promise;
  });
  await ready;
  end.resolve();
  await done;
});

test("readyAndDone: a task that fails before it is ready rejects both", async () => {
  const { ready, done } = readyAndDone(() => Promise.reject(new Error("port in use")));
  await assert.rejects(ready, /port in use/);
  await assert.rejects(done, /port in use/);
});
