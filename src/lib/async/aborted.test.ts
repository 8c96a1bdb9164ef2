import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { onAbort, signalForMany, untilAborted } from "./aborted.ts";

describe("onAbort calls back once", () => {
  test("when it aborts later", async () => {
    const controller = new AbortController();
    let calls = 0;
    onAbort(controller.signal, () => calls++);
    assert.equal(calls, 0);
    controller.abort();
    await untilAborted(controller.signal);
    assert.equal(calls, 1);
  });

  test("when it has aborted before", async () => {
    let calls = 0;
    onAbort(AbortSignal.abort(), () => calls++);
    await untilAborted(AbortSignal.abort());
    assert.equal(calls, 1);
  });
});

test("signalForMany: many listeners cause no MaxListenersExceededWarning", async () => {
  const warnings: Error[] = [];
  const record = (warning: Error): unknown => warnings.push(warning);
  process.on("warning", record);
  const controller = new AbortController();
  const signal = signalForMany(controller.signal);
  let calls = 0;
  for (let n = 0; n < 30; n++) onAbort(signal, () => calls++);
  await new Promise((resolve) => setImmediate(resolve)); // warnings come later
  process.off("warning", record);
  controller.abort();
  assert.deepEqual({ calls, warnings }, { calls: 30, warnings: [] });
});
