import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { seededRandom } from "#lib/random.ts";
import { type Row, type RowSelection, TableRows } from "./table-rows.ts";

function row(name: string, cells: readonly unknown[] = [name], namespace = "default"): Row {
  const uid = `uid-${namespace}-${name}`;
  return { uid, namespace, name, createdAt: "2030-01-01T00:00:00Z", isDeleting: false, cells };
}

function names(rows: TableRows, offset = 0, limit = 100): readonly string[] {
  return rows.window(offset, limit).map(({ name }) => name);
}

describe("TableRows of the dashboard", () => {
  test("windows are cut from rows ordered by namespace and name", () => {
    const rows = new TableRows();
    rows.putAll([row("c"), row("a"), row("b"), row("z", ["z"], "alpha")]);
    assert.deepEqual(names(rows), ["z", "a", "b", "c"]);
    assert.deepEqual(names(rows, 1, 2), ["a", "b"]);
  });

  test("pages of rows are merged into the order, whether they follow the others or not", () => {
    const rows = new TableRows();
    rows.putAll([row("c"), row("a")]);
    assert.deepEqual(names(rows), ["a", "c"]);
    rows.putAll([row("e"), row("d")]);
    assert.deepEqual(names(rows), ["a", "c", "d", "e"]);
    rows.putAll([row("z", ["z"], "alpha"), row("b"), row("f")]);
    assert.deepEqual(names(rows), ["z", "a", "b", "c", "d", "e", "f"]);
    rows.putAll([row("0"), row("b", ["changed"]), row("g")]);
    assert.deepEqual(names(rows), ["z", "0", "a", "b", "c", "d", "e", "f", "g"]);
    assert.deepEqual(rows.window(3, 1)[0]?.cells, ["changed"]);
  });

  test("put: a row whose cells are as before changes nothing", () => {
    const rows = new TableRows();
    rows.putAll([row("a"), row("b")]);
    const before = rows.window(0, 2);
    assert.equal(rows.put(row("a")), false);
    assert.deepEqual([rows.window(0, 2)[0] === before[0], rows.put(row("a", ["x"]))], [true, true]);
  });

  const orders: { name: string; cells: readonly unknown[]; want: readonly unknown[] }[] = [
    { name: "numbers are compared as numbers", cells: [10, 9, 100], want: [9, 10, 100] },
    {
      name: "restarts with a time are compared by their count",
      cells: ["10 (2m ago)", "9", "0"],
      want: ["0", "9", "10 (2m ago)"],
    },
    {
      name: "ready counts are compared by their first number",
      cells: ["10/10", "2/3"],
      want: ["2/3", "10/10"],
    },
    { name: "text comes after numbers", cells: ["b", 3, "a"], want: [3, "a", "b"] },
    {
      name: "versions are compared as text",
      cells: ["1.2.3", "1.10.0"],
      want: ["1.10.0", "1.2.3"],
    },
  ];
  for (const { name, cells, want } of orders) {
    test(`order by a column: ${name}`, () => {
      const rows = new TableRows();
      rows.putAll(cells.map((cell, index) => row(`r${index}`, [cell])));
      rows.select({ filter: "", order: { by: 0, descending: false } });
      assert.deepEqual(
        rows.window(0, 10).map((r) => r.cells[0]),
        want,
      );
    });
  }

  test("filter: every word must be in the row, whatever its case", () => {
    const rows = new TableRows();
    rows.putAll([row("web-1", ["web-1", "Running"]), row("web-2", ["web-2", "Pending"])]);
    rows.select({ filter: "WEB run", order: undefined });
    assert.deepEqual([names(rows), rows.matched, rows.total], [["web-1"], 1, 2]);
  });

  test("changes one by one give the same order as a new sort", () => {
    const random = seededRandom(7);
    const selections: RowSelection[] = [
      { filter: "", order: undefined },
      { filter: "1", order: { by: 1, descending: true } },
    ];
    for (const selection of selections) {
      const live = new TableRows();
      live.select(selection);
      const state = new Map<string, Row>();
      for (let step = 0; step < 2_000; step++) {
        const changed = row(`p${random.integer(60)}`, ["x", random.integer(20)]);
        if (random.integer(4) === 0) {
          state.delete(changed.uid);
          live.remove(changed.uid);
        } else {
          state.set(changed.uid, changed);
          live.put(changed);
        }
        live.window(0, 1);
      }
      const fresh = new TableRows();
      fresh.select(selection);
      fresh.putAll([...state.values()]);
      assert.deepEqual(live.window(0, 100), fresh.window(0, 100));
      assert.equal(live.matched, fresh.matched);
    }
  });
});
