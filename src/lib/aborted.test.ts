import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { onAbort, untilAborted } from "./aborted.ts";

describe("a signal is heard once", () => {
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
