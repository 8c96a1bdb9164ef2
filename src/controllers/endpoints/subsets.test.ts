import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { EndpointAddress, EndpointSubset } from "#api/generated/core.v1.ts";
import { addressCount, packSubsets, truncated } from "./subsets.ts";

const address = (ip: string): EndpointAddress => ({ ip });
const http = { name: "http", port: 80 };
const dns = { name: "dns", port: 53 };

const rows: readonly {
  readonly name: string;
  readonly given: readonly EndpointSubset[];
  readonly want: readonly EndpointSubset[];
}[] = [
  {
    name: "addresses of the same port come together, in order",
    given: [
      { addresses: [address("10.0.0.2")], ports: [http] },
      { addresses: [address("10.0.0.1")], ports: [http] },
      { notReadyAddresses: [address("10.0.0.3")], ports: [http] },
    ],
    want: [
      {
        addresses: [address("10.0.0.1"), address("10.0.0.2")],
        notReadyAddresses: [address("10.0.0.3")],
        ports: [http],
      },
    ],
  },
  {
    name: "ports of the same addresses come together",
    given: [
      { addresses: [address("10.0.0.1")], ports: [http] },
      { addresses: [address("10.0.0.1")], ports: [dns] },
    ],
    want: [{ addresses: [address("10.0.0.1")], ports: [dns, http] }],
  },
  {
    name: "different ports of different addresses stay apart",
    given: [
      { addresses: [address("10.0.0.1")], ports: [http] },
      { addresses: [address("10.0.0.2")], ports: [{ ...http, port: 81 }] },
    ],
    want: [
      { addresses: [address("10.0.0.1")], ports: [http] },
      { addresses: [address("10.0.0.2")], ports: [{ ...http, port: 81 }] },
    ],
  },
  {
    name: "what is not ready somewhere is not ready",
    given: [
      { addresses: [address("10.0.0.1")], ports: [http] },
      { notReadyAddresses: [address("10.0.0.1")], ports: [http] },
    ],
    want: [{ notReadyAddresses: [address("10.0.0.1")], ports: [http] }],
  },
  {
    name: "addresses without ports make a subset of their own",
    given: [{ addresses: [address("10.0.0.1")] }],
    want: [{ addresses: [address("10.0.0.1")] }],
  },
];

describe("packSubsets of Endpoints", () => {
  for (const { name, given, want } of rows) {
    test(name, () => assert.deepEqual(packSubsets(given), want));
  }

  test("more than a thousand addresses are cut, the ready ones stay", () => {
    const many = (prefix: string, count: number): EndpointAddress[] =>
      Array.from({ length: count }, (_, i) => address(`${prefix}.${i >> 8}.${i & 255}`));
    const cut = truncated([
      { addresses: many("10.1", 600), notReadyAddresses: many("10.2", 900), ports: [http] },
      { addresses: many("10.3", 100), notReadyAddresses: many("10.4", 300), ports: [dns] },
    ]);
    assert.equal(addressCount(cut), 1000);
    assert.deepEqual(
      cut.map((s) => [s.addresses?.length, s.notReadyAddresses?.length]),
      [
        [600, 225],
        [100, 75],
      ],
    );
    const onlyReady = truncated([
      { addresses: many("10.1", 1200), notReadyAddresses: many("10.2", 5) },
    ]);
    assert.deepEqual(
      [onlyReady[0]?.addresses?.length, onlyReady[0]?.notReadyAddresses],
      [1000, undefined],
    );
  });
});
