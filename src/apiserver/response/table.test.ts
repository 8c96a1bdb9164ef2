import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { ipAddressKind } from "#api/kinds/networking/v1/ip-address.ts";
import { roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { startTestApi } from "../api.testing.ts";
import { Revision } from "../storage/revision.ts";
import { ColumnDescriptions } from "./column-descriptions.ts";
import { Tables } from "./table.ts";

const PROSE = { struct: () => undefined, field: () => "what it is" };
const tables = new Tables(new ColumnDescriptions([ipAddressKind], () => PROSE as never), {
  nowMs: () => 0,
});

describe("tables", () => {
  test("the description of a column does not list the values of its enum", () => {
    const prose = { field: () => 'What it is.\n\nPossible enum values:\n - `"A"` is a.' };
    const descriptions = new ColumnDescriptions([ipAddressKind], () => prose as never);
    const described = ipAddressKind.columns.find(({ describedBy }) => describedBy !== undefined)!;
    assert.equal(descriptions.of(described), "What it is.");
  });

  test("the Role column of a RoleBinding is described as in v1beta1, without its immutability", () => {
    const prose = { field: () => "What it is. This field is immutable." };
    const descriptions = new ColumnDescriptions([roleBindingKind], () => prose as never);
    const role = roleBindingKind.columns.find(({ name }) => name === "Role")!;
    assert.equal(descriptions.of(role), "What it is.");
  });

  test("a cell without heading has no column definition", () => {
    const { object } = runKind(ipAddressKind, {
      object: {
        metadata: { name: "1.2.3.4" },
        spec: { parentRef: { resource: "services", name: "s" } },
      },
    });
    const table = tables.of({
      kind: ipAddressKind,
      items: [Revision.fromValue(ipAddressKind, "/k", 1, object)],
      metadata: {},
      version: "v1",
      query: new URLSearchParams({ includeObject: "None" }),
    }) as unknown as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] };
    assert.deepEqual(
      table.columnDefinitions.map(({ name }) => name),
      ["Name", "ParentRef"],
    );
    assert.deepEqual(table.rows[0]?.cells, ["1.2.3.4", "services/s", "<unknown>"]);
  });

  test("rows of flow schemas come as requests meet them", async () => {
    await using api = await startTestApi();
    const path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
    const schema = (name: string, matchingPrecedence: number) => ({
      metadata: { name },
      spec: { matchingPrecedence, priorityLevelConfiguration: { name: "x" } },
    });
    for (const [name, precedence] of Object.entries({ a: 900, z: 100, m: 900 }))
      await api.want(201, "POST", path, { body: schema(name, precedence) });
    const headers = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
    const { rows } = await api.want(200, "GET", path, { headers });
    assert.deepEqual(
      rows.map(({ cells }: { cells: unknown[] }) => cells[0]),
      ["z", "a", "m"],
    );
  });
});
