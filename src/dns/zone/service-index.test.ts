import assert from "node:assert/strict";
import { test } from "vitest";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { build } from "#testing/build.ts";
import { ServiceIndex } from "./service-index.ts";

const PORTS = [{ name: "http", port: 80, protocol: "TCP" as const }];

function serviceOf(name: string, clusterIP: string) {
  return build(serviceKind, {
    metadata: { name },
    spec: { clusterIPs: [clusterIP], ports: PORTS },
  });
}

function sliceOf(name: string, service: string, ips: readonly string[]) {
  return build(endpointSliceKind, {
    metadata: { name, labels: { "kubernetes.io/service-name": service } },
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: {} })),
    ports: PORTS,
  });
}

/** The names of what is found at an address. */
function foundAt(index: ServiceIndex, address: readonly number[]): readonly string[] {
  const slices = index.slicesAt(address).map(({ service }) => `endpoint of ${service.key}`);
  return [...index.servicesAt(address).map(({ key }) => key), ...slices];
}

test("ServiceIndex: an EndpointSlice may come before its Service and stay after it", () => {
  const index = new ServiceIndex();
  index.putSlice(sliceOf("a-1", "a", ["10.0.0.1"]));
  assert.equal(index.find("default", "a")?.target, undefined);
  index.putService(serviceOf("a", "10.96.0.1"));
  assert.equal(index.find("default", "a")?.target?.kind, "cluster-ip");
  index.removeService(serviceOf("a", "10.96.0.1"));
  assert.deepEqual(foundAt(index, [10, 96, 0, 1]), []);
  assert.deepEqual(foundAt(index, [10, 0, 0, 1]), ["endpoint of default/a"]);
  index.removeSlice(sliceOf("a-1", "a", []));
  assert.equal(index.find("default", "a"), undefined);
});

test("ServiceIndex: a changed Service or EndpointSlice leaves nothing at its old addresses", () => {
  const index = new ServiceIndex();
  index.putService(serviceOf("a", "10.96.0.1"));
  index.putService(serviceOf("a", "10.96.0.2"));
  index.putSlice(sliceOf("a-1", "a", ["10.0.0.1", "10.0.0.2"]));
  index.putSlice(sliceOf("a-1", "b", ["10.0.0.2"]));
  assert.deepEqual(foundAt(index, [10, 96, 0, 1]), []);
  assert.deepEqual(foundAt(index, [10, 96, 0, 2]), ["default/a"]);
  assert.deepEqual(foundAt(index, [10, 0, 0, 1]), []);
  assert.deepEqual(foundAt(index, [10, 0, 0, 2]), ["endpoint of default/b"]);
  assert.equal(index.find("default", "a")?.slices, undefined);
});

test("ServiceIndex: retain removes Services and EndpointSlices that a list no longer has", () => {
  const index = new ServiceIndex();
  for (const name of ["a", "b"]) index.putService(serviceOf(name, "10.96.0.1"));
  for (const name of ["a", "b"]) index.putSlice(sliceOf(`${name}-1`, name, ["10.0.0.1"]));
  index.retainServices(new Set(["default/b"]));
  assert.deepEqual(foundAt(index, [10, 96, 0, 1]), ["default/b"]);
  index.retainSlices(new Set(["default/a-1"]));
  assert.deepEqual(foundAt(index, [10, 0, 0, 1]), ["endpoint of default/a"]);
  index.retainServices(new Set());
  index.retainSlices(new Set());
  assert.deepEqual(foundAt(index, [10, 0, 0, 1]), []);
  assert.equal(index.find("default", "a"), undefined);
});
