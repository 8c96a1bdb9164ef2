import assert from "node:assert/strict";
import { test } from "vitest";
import type { Row } from "../../src/dashboard/table/table-rows.ts";
import { wholeRows } from "./whole-rows.ts";

const row = (uid: string, cell = ""): Row => ({
  ...{ uid, namespace: "n", name: uid, createdAt: "", isDeleting: false, cells: [cell] },
});

test("wholeRows: rows that are named by uid are taken from the last message", () => {
  const before = [row("a"), row("b"), row("c")];
  const changed = row("c", "new");
  const rows = wholeRows(["b", changed, row("d")], before);
  assert.deepEqual(rows, [before[1], changed, row("d")]);
  assert.equal(rows[0], before[1]);
});

test("wholeRows: rows that are left out are those of the last message", () => {
  const before = [row("a")];
  assert.equal(wholeRows(undefined, before), before);
});
