/** Endpoints and EndpointSlices. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { endpointsKind } from "./endpoints.ts";

const subset = (subset: object) => ({ object: { subsets: [subset] } });
const slice = (addressType: string, endpoint: object) => ({
  object: { addressType, endpoints: [{ conditions: {}, ...endpoint }] },
});

describe("endpoints", () => {
  const rows = [
    {
      name: "no addresses",
      write: subset({}),
      faults: ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"],
    },
    {
      name: "a link-local address",
      write: subset({ addresses: [{ ip: "169.254.0.1" }] }),
      faults: [
        'subsets[0].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
      ],
    },
    {
      name: "several ports without names",
      write: subset({ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 1 }, { port: 0 }] }),
      faults: [
        "subsets[0].ports[0].name: Required value",
        "subsets[0].ports[1].name: Required value",
        "subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(endpointsKind, write).faults, faults));
  }

  test("what was stored may stay", () => {
    const { object } = subset({});
    assert.deepEqual(runKind(endpointsKind, { object, old: object }).faults, []);
  });

  test("the cell shows three of all", () => {
    const addresses = ["10.0.0.1", "10.0.0.2", "fd00::1", "10.0.0.4"].map((ip) => ({ ip }));
    const { object } = runKind(endpointsKind, subset({ addresses, ports: [{ port: 80 }] }));
    assert.equal(
      endpointsKind.columns[1]!.cell(object, 0),
      "10.0.0.1:80,10.0.0.2:80,[fd00::1]:80 + 1 more...",
    );
  });
});

describe("endpoint slices", () => {
  const rows = [
    {
      name: "an unknown addressType",
      write: { object: { addressType: "IPX" } },
      faults: ['addressType: Unsupported value: "IPX": supported values: "FQDN", "IPv4", "IPv6"'],
    },
    {
      name: "an address of the other family",
      write: slice("IPv4", { addresses: ["fd00::1"] }),
      faults: ['endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address'],
    },
    {
      name: "an IPv6 address that is not canonical",
      write: slice("IPv6", { addresses: ["FD00::1"] }),
      faults: [
        'endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")',
      ],
    },
    {
      name: "a host name without a domain",
      write: slice("FQDN", { addresses: ["a"] }),
      faults: [
        'endpoints[0].addresses[0]: Invalid value: "a": should be a domain with at least two segments separated by dots',
      ],
    },
    {
      name: "too many hints",
      write: slice("IPv4", {
        addresses: ["10.0.0.1"],
        hints: { forNodes: Array.from({ length: 9 }, (_, i) => ({ name: `n${i}` })) },
      }),
      faults: ["endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items"],
    },
    {
      name: "another address type",
      write: { object: { addressType: "IPv6" }, old: { addressType: "IPv4" } },
      faults: ['addressType: Invalid value: "IPv6": field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(endpointSliceKind, write).faults, faults);
    });
  }

  test("old topology becomes the node's name, then goes", () => {
    const topology = { deprecatedTopology: { "kubernetes.io/hostname": "n1" } };
    const { object } = runKind(endpointSliceKind, {
      ...slice("IPv4", { addresses: ["10.0.0.2"], ...topology }),
      old: slice("IPv4", { addresses: ["10.0.0.1"], ...topology }).object,
    });
    const { endpoints, metadata } = object as EndpointSlice;
    assert.equal(metadata.generation, 1);
    assert.deepEqual(endpoints, [{ addresses: ["10.0.0.2"], conditions: {}, nodeName: "n1" }]);
  });

  test("host names are deprecated, when they are new", () => {
    const { object } = slice("FQDN", { addresses: ["a.example"] });
    assert.deepEqual(runKind(endpointSliceKind, { object }).warnings, [
      "spec.addressType: FQDN endpoints are deprecated",
    ]);
    assert.deepEqual(runKind(endpointSliceKind, { object, old: object }).warnings, []);
  });
});
