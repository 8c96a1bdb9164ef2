import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Endpoint, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { planSlices } from "./slice-plan.ts";

const endpoint = (n: number, ready = true): Endpoint => ({
  addresses: [`10.0.0.${n}`],
  conditions: { ready },
});
const range = (first: number, last: number): readonly Endpoint[] =>
  Array.from({ length: last - first + 1 }, (_, i) => endpoint(first + i));
const slice = (name: string, endpoints: readonly Endpoint[]): EndpointSlice => ({
  metadata: { name },
  addressType: "IPv4",
  endpoints,
  ports: [],
});

const rows: readonly {
  readonly name: string;
  readonly existing: readonly EndpointSlice[];
  readonly desired: readonly Endpoint[];
  readonly kept: Readonly<Record<string, number>>;
  readonly created: readonly number[];
  readonly deleted?: readonly string[];
}[] = [
  {
    name: "new ones are filled to the limit",
    existing: [],
    desired: range(1, 10),
    kept: {},
    created: [4, 4, 2],
  },
  {
    name: "unchanged endpoints keep their slice",
    existing: [slice("a", range(1, 3))],
    desired: range(1, 3),
    kept: { a: 3 },
    created: [],
  },
  {
    name: "a new endpoint goes into the fullest slice that has room",
    existing: [slice("a", range(1, 2)), slice("b", range(3, 5))],
    desired: range(1, 6),
    kept: { a: 2, b: 4 },
    created: [],
  },
  {
    name: "slices that change anyway are filled first, the fullest before others",
    existing: [slice("a", range(1, 3)), slice("b", range(4, 7)), slice("c", [endpoint(8)])],
    desired: [...range(1, 2), ...range(4, 6), ...range(8, 10)],
    kept: { a: 3, b: 4, c: 1 },
    created: [],
  },
  {
    name: "what does not fit together goes into a new one rather than into many",
    existing: [slice("a", range(1, 3)), slice("b", range(4, 6))],
    desired: range(1, 8),
    kept: { a: 3, b: 3 },
    created: [2],
  },
  {
    name: "a slice that loses everything goes",
    existing: [slice("a", range(1, 2)), slice("b", range(3, 4))],
    desired: range(1, 2),
    kept: { a: 2 },
    created: [],
    deleted: ["b"],
  },
];

describe("planSlices of EndpointSlices", () => {
  for (const { name, existing, desired, kept, created, deleted = [] } of rows) {
    test(name, () => {
      const plan = planSlices(existing, desired, 4, () => false);
      assert.deepEqual(
        Object.fromEntries(plan.kept.map((k) => [k.slice.metadata.name, k.endpoints.length])),
        kept,
      );
      assert.deepEqual(
        plan.created.map((list) => list.length),
        created,
      );
      assert.deepEqual(
        plan.deleted.map(({ metadata }) => metadata.name),
        deleted,
      );
      const placed = [...plan.kept.flatMap((k) => k.endpoints), ...plan.created.flat()];
      assert.deepEqual(
        new Set(placed.map(({ addresses }) => addresses?.[0])),
        new Set(desired.map(({ addresses }) => addresses?.[0])),
      );
      assert.equal(placed.length, desired.length);
    });
  }
});
