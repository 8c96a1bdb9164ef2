import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Toleration } from "#api/generated/core.v1.ts";
import { tolerates } from "./tolerates.ts";

const taint = { key: "k", value: "v", effect: "NoExecute" } as const;
const rows: { name: string; toleration: Toleration; want: boolean }[] = [
  { name: "everything exists", toleration: { operator: "Exists" }, want: true },
  { name: "the key exists", toleration: { key: "k", operator: "Exists" }, want: true },
  { name: "another key", toleration: { key: "l", operator: "Exists" }, want: false },
  { name: "equal without saying so", toleration: { key: "k", value: "v" }, want: true },
  { name: "another value", toleration: { key: "k", operator: "Equal", value: "w" }, want: false },
  {
    name: "another effect",
    toleration: { key: "k", operator: "Exists", effect: "NoSchedule" },
    want: false,
  },
  { name: "comparing is off", toleration: { key: "k", operator: "Gt", value: "1" }, want: false },
];

describe("tolerates", () => {
  for (const { name, toleration, want } of rows) {
    test(name, () => assert.equal(tolerates(toleration, taint), want));
  }
});
