/** IPAddress and ServiceCIDR. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { ipAddressKind, ipAddressV1beta1Kind } from "./ip-address.ts";
import { serviceCidrKind } from "./service-cidr.ts";

describe("addresses", () => {
  const parentRef = { group: "g", resource: "services", namespace: "ns", name: "s" };
  const named = (name: string, spec: object = { parentRef }) => ({
    object: { metadata: { name }, spec },
  });
  const rows = [
    {
      name: "a name that is no address",
      write: named("x"),
      faults: [
        'metadata.name: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
    },
    {
      name: "an address in another form",
      write: named("2001:DB8::1"),
      faults: [
        'metadata.name: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")',
      ],
    },
    {
      name: "no parent",
      write: named("1.2.3.4", {}),
      faults: ["spec.parentRef: Required value"],
    },
    {
      name: "a parent without resource and name",
      write: named("1.2.3.4", { parentRef: {} }),
      faults: ["spec.parentRef.resource: Required value", "spec.parentRef.name: Required value"],
    },
    {
      name: "another parent",
      write: {
        ...named("1.2.3.4", { parentRef: { ...parentRef, name: "t" } }),
        old: named("1.2.3.4").object,
      },
      faults: [
        'spec.parentRef: Invalid value: {"Group":"g","Resource":"services","Namespace":"ns","Name":"t"}: field is immutable',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(ipAddressKind, write).faults, faults));
  }

  test("the age has a cell, but no heading", () => {
    const outcome = runKind(ipAddressKind, named("1.2.3.4"));
    assert.deepEqual(cellsOf(ipAddressKind, outcome), ["1.2.3.4", "services.g/ns/s", "<unknown>"]);
    assert.deepEqual(
      ipAddressKind.columns.filter(({ headless }) => headless).map(({ name }) => name),
      ["Age"],
    );
  });

  test("v1beta1 is the same kind under another name", () => {
    const { storedAs } = ipAddressV1beta1Kind;
    const { object } = runKind(ipAddressV1beta1Kind, named("1.2.3.4"));
    const stored = storedAs?.toStored(object);
    assert.equal(stored?.apiVersion, "networking.k8s.io/v1");
    assert.deepEqual(storedAs?.fromStored(stored!), object);
  });
});

describe("ServiceCIDR", () => {
  const ranges = (...cidrs: string[]) => ({ spec: { cidrs } });
  const rows = [
    {
      name: "no ranges",
      write: { object: { spec: {} } },
      faults: ["spec.cidrs: Required value: at least one CIDR required"],
    },
    {
      name: "three ranges",
      write: { object: ranges("a", "b", "c") },
      faults: ['spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values'],
    },
    {
      name: "two of a family",
      write: { object: ranges("10.0.0.0/8", "11.0.0.0/8") },
      faults: [
        'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ],
    },
    {
      name: "another range",
      write: { object: ranges("11.0.0.0/8"), old: ranges("10.0.0.0/8") },
      faults: ['spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable'],
    },
    {
      name: "a range less",
      write: { object: ranges("10.0.0.0/8"), old: ranges("10.0.0.0/8", "fd00::/64") },
      faults: ['spec.cidrs: Invalid value: ["10.0.0.0/8"]: field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(serviceCidrKind, write).faults, faults));
  }

  test("a second family may be added", () => {
    const write = { object: ranges("10.0.0.0/8", "fd00::/64"), old: ranges("10.0.0.0/8") };
    assert.deepEqual(runKind(serviceCidrKind, write).faults, []);
  });
});
