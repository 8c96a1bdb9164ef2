import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Node } from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { completed } from "#testing/build.ts";
import { withZoneHints, zoneShares } from "./topology-hints.ts";

const node = (zone: string, cpu: string, labels: Record<string, string> = {}): Node =>
  completed(nodeKind, {
    metadata: { labels: { ...labels, ...(zone && { "topology.kubernetes.io/zone": zone }) } },
    status: { allocatable: { cpu }, conditions: [{ type: "Ready", status: "True" }] },
  });

let addresses = 0;
const slice = (zones: string): EndpointSlice => ({
  metadata: {},
  addressType: "IPv4",
  ports: [],
  endpoints: [...zones].map(
    (zone): Endpoint => ({
      addresses: [`10.0.0.${++addresses}`],
      conditions: { ready: true },
      ...(zone === "-" ? {} : { zone }),
    }),
  ),
});

/** For each endpoint the zone that it serves. */
function hintsOf(zones: string, shares: Readonly<Record<string, number>> | undefined): string {
  const given = shares === undefined ? undefined : new Map(Object.entries(shares));
  const result = withZoneHints([{ slice: slice(zones) }], given);
  if (!result.ok) return result.why;
  return result.drafts
    .flatMap((draft) => draft.slice.endpoints ?? [])
    .map(({ hints }) => hints?.forZones?.[0]?.name ?? "-")
    .join("");
}

const rows: readonly {
  readonly name: string;
  readonly zones: string;
  readonly shares: Readonly<Record<string, number>> | undefined;
  readonly want: string;
}[] = [
  { name: "balanced as it is", zones: "aabb", shares: { a: 0.5, b: 0.5 }, want: "aabb" },
  {
    name: "the rich zone serves for the poor one",
    zones: "aaab",
    shares: { a: 0.5, b: 0.5 },
    want: "baab",
  },
  {
    name: "a zone without endpoints is served",
    zones: "aabb",
    shares: { a: 0.25, b: 0.5, c: 0.25 },
    want: "cabb",
  },
  {
    name: "fewer endpoints than zones",
    zones: "ab",
    shares: { a: 0.4, b: 0.3, c: 0.3 },
    want: "Insufficient number of endpoints (2 endpoints, 3 zones)",
  },
  {
    name: "too few to be fair",
    zones: "aab",
    shares: { a: 0.5, b: 0.5 },
    want: "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (3 endpoints, 2 zones)",
  },
  {
    name: "an endpoint without a zone",
    zones: "aab-",
    shares: { a: 0.5, b: 0.5 },
    want: "One or more endpoints do not have a zone specified",
  },
  {
    name: "nodes without zone or allocatable CPU",
    zones: "aabb",
    shares: undefined,
    want: "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes",
  },
];

describe("topology hints", () => {
  for (const { name, zones, shares, want } of rows) {
    test(name, () => assert.equal(hintsOf(zones, shares), want));
  }

  test("slices that do not change keep their hints", () => {
    const shares = new Map([
      ["a", 0.5],
      ["b", 0.5],
    ]);
    const plain = slice("aaab");
    const first = withZoneHints([{ slice: plain }], shares);
    assert.ok(first.ok);
    const old = first.drafts[0]!.slice;
    const again = withZoneHints([{ slice: plain, old }], shares);
    assert.ok(again.ok);
    assert.deepEqual(again.drafts[0]?.slice.endpoints, old.endpoints);
  });

  test("shares of processors by zone", () => {
    const nodes = [node("a", "2"), node("a", "1500m"), node("b", "500m")];
    assert.deepEqual(
      zoneShares(nodes),
      new Map([
        ["a", 0.875],
        ["b", 0.125],
      ]),
    );
    const control = node("", "4", { "node-role.kubernetes.io/control-plane": "" });
    assert.equal(zoneShares([...nodes, control])?.size, 2);
    assert.equal(zoneShares([...nodes, node("", "1")]), undefined);
    assert.equal(zoneShares([node("a", "1")]), undefined);
  });
});
