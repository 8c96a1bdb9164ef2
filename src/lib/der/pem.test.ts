import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { parsePem } from "./pem.ts";

const BLOCK = "-----BEGIN A-----\nAAEC\n-----END A-----\n";

describe("PEM", () => {
  const rows = [
    { name: "an empty text has no blocks", text: "", found: [] },
    {
      name: "a block gives its type and bytes",
      text: BLOCK,
      found: [{ type: "A", headers: {}, bytes: [0, 1, 2] }],
    },
    {
      name: "blocks between other text",
      text: `before\n${BLOCK}between\n${BLOCK.replaceAll(" A-", " B C-")}after`,
      found: [
        { type: "A", headers: {}, bytes: [0, 1, 2] },
        { type: "B C", headers: {}, bytes: [0, 1, 2] },
      ],
    },
    {
      name: "headers of a block are read",
      text: "-----BEGIN A-----\nKey: value\n\nAAEC\n-----END A-----\n",
      found: [{ type: "A", headers: { Key: "value" }, bytes: [0, 1, 2] }],
    },
    {
      name: "an empty block",
      text: "-----BEGIN A-----\n-----END A-----",
      found: [{ type: "A", headers: {}, bytes: [] }],
    },
    {
      name: "a block that never ends, and a whole one after it",
      text: `-----BEGIN B-----\nAAEC\n${BLOCK}`,
      found: [{ type: "A", headers: {}, bytes: [0, 1, 2] }],
    },
    { name: "no base64", text: "-----BEGIN A-----\nA*\n-----END A-----\n", found: [] },
    { name: "no line of its own", text: `x${BLOCK}`, found: [] },
  ];
  for (const { name, text, found } of rows) {
    test(name, () =>
      assert.deepEqual(
        parsePem(text).map((block) => ({ ...block, bytes: [...block.bytes] })),
        found,
      ),
    );
  }
});
