import assert from "node:assert/strict";
import { test } from "vitest";
import { measuredGoals } from "./goals.ts";

test("measuredGoals: the worst of the matching rows counts, and goals without a row are named", () => {
  const { rows, missing } = measuredGoals([
    {
      bench: "attack",
      rows: [
        { name: "nothing is sent", value: 300, unit: "ms" },
        { name: "a query (anonymous)", value: 20, unit: "ms" },
        { name: "a pod (an editor)", value: 150, unit: "ms" },
      ],
    },
    {
      bench: "kubelet",
      rows: [{ name: "pod created to Ready", value: 240, unit: "ms", limit: 200, target: 2 }],
    },
    {
      bench: "apiserver",
      rows: [{ name: "GET a pod, 32 connections, HTTP/1.1", value: 11_500, unit: "/s" }],
    },
  ]);
  assert.deepEqual(
    rows.map(({ name, value, limit, limitName, target }) => ({
      ...{ name, value, limit, limitName, target },
    })),
    [
      {
        ...{ name: "GET a pod, 32 connections", value: 11_500, limit: 23_000, target: 1 },
        limitName: "10 × upstream",
      },
      {
        ...{ name: "pod created to Ready", value: 240, limit: 200, target: 1.25 },
        limitName: undefined,
      },
      {
        ...{ name: "longest wait that a client causes", value: 150, limit: 100, target: 1 },
        limitName: "wanted",
      },
    ],
  );
  assert.ok(missing.includes("idle memory"));
  assert.equal(rows.length + missing.length, 22);
});
