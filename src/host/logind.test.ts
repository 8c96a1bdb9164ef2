import assert from "node:assert/strict";
import { test } from "vitest";
import { shutdownOf } from "./logind.ts";

test("PrepareForShutdown: read from the lines of busctl monitor", () => {
  const line = (member: string, data: unknown): string =>
    JSON.stringify({ type: "signal", member, payload: { type: "b", data: [data] } });
  const rows = [
    [line("PrepareForShutdown", true), true],
    [line("PrepareForShutdown", false), false],
    [line("PrepareForShutdown", "yes"), undefined],
    [line("PrepareForSleep", true), undefined],
    ["Monitoring bus message stream.", undefined],
  ] as const;
  for (const [text, want] of rows) assert.equal(shutdownOf(text), want, text);
});
