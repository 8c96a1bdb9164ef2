import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Toleration } from "#api/generated/core.v1.ts";
import { tolerates } from "./tolerates.ts";

const taint = { key: "k", value: "v", effect: "NoExecute" } as const;
const rows: { name: string; toleration: Toleration; want: boolean }[] = [
  {
    name: "operator Exists without a key tolerates every taint",
    toleration: { operator: "Exists" },
    want: true,
  },
  {
    name: "operator Exists tolerates any value of its key",
    toleration: { key: "k", operator: "Exists" },
    want: true,
  },
  {
    name: "a toleration of another key does not tolerate the taint",
    toleration: { key: "l", operator: "Exists" },
    want: false,
  },
  { name: "Equal is the default operator", toleration: { key: "k", value: "v" }, want: true },
  {
    name: "a toleration of another value does not tolerate the taint",
    toleration: { key: "k", operator: "Equal", value: "w" },
    want: false,
  },
  {
    name: "a toleration of another effect does not tolerate the taint",
    toleration: { key: "k", operator: "Exists", effect: "NoSchedule" },
    want: false,
  },
  {
    name: "operator Gt tolerates nothing while its feature gate is off",
    toleration: { key: "k", operator: "Gt", value: "1" },
    want: false,
  },
];

describe("tolerates (taint k=v:NoExecute)", () => {
  for (const { name, toleration, want } of rows) {
    test(name, () => assert.equal(tolerates(toleration, taint), want));
  }
});
