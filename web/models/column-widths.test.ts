import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Row } from "../../src/dashboard/table/table-rows.ts";
import { widened } from "./column-widths.ts";
import type { ShownColumn } from "./shown-columns.ts";

const NAME: ShownColumn = { name: "Name", description: "", by: 0, isName: true, isState: false };
const NODE: ShownColumn = { name: "Node", description: "", by: 1, isName: false, isState: false };
const columns = [NAME, NODE];

describe("dashboard: column widths of a table", () => {
  test("the longest text of a column and its padding, at least six characters, at most 60", () => {
    const widths = widened(new Map(), columns, [row("web-0123456789", "n")], 0);
    assert.deepEqual(
      [...widths],
      [
        ["Name", 17],
        ["Node", 9],
      ],
    );
    assert.equal(widened(widths, columns, [row("x".repeat(253), "n")], 0).get("Name"), 60);
  });

  test("rows that fit leave the widths as they are", () => {
    const widths = widened(new Map(), columns, [row("web-0123456789", "node-1")], 0);
    assert.equal(widened(widths, columns, [row("a", "b")], 0), widths);
  });
});

function row(name: string, node: string): Row {
  return {
    ...{ uid: name, namespace: "default", name, createdAt: "2030-01-01T00:00:00Z" },
    ...{ isDeleting: false, cells: [name, node] },
  };
}
