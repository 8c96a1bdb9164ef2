import assert from "node:assert/strict";
import { test } from "vitest";
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { createSlicePacker, packService } from "./packed-objects.ts";
import { decideServiceRules } from "./rules/decide-service-rules.ts";
import { decideServiceHealth } from "./rules/health-check-ports.ts";

const NODE = { nodeName: "n1", zone: "z1", nodeIps: ["192.0.2.1"] };

const METADATA = {
  ...{ namespace: "shop", name: "web", uid: "u", resourceVersion: "7", generation: 2 },
  managedFields: [{ manager: "kubectl", operation: "Apply" }],
  annotations: {
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "endpoints.kubernetes.io/last-change-trigger-time": "2030-01-01T00:00:00Z",
  },
  labels: { app: "web", "kubernetes.io/service-name": "web" },
};

const SERVICE: Service = {
  metadata: METADATA,
  spec: {
    ...{ type: "LoadBalancer", clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9"] },
    ...{ selector: { app: "web" }, externalTrafficPolicy: "Local", healthCheckNodePort: 30_100 },
    ...{ sessionAffinity: "ClientIP", loadBalancerSourceRanges: ["192.0.2.0/24"] },
    ports: [{ name: "http", port: 80, protocol: "TCP", nodePort: 30_080 }],
  },
  status: { loadBalancer: { ingress: [{ ip: "198.51.100.7", ipMode: "VIP" }] } },
};

const SLICE: EndpointSlice = {
  ...{ metadata: METADATA, addressType: "IPv4" },
  ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  endpoints: ["n1", "n2", "n1"].map((nodeName, i) => ({
    addresses: [`10.244.0.${i}`],
    conditions: { ready: true, serving: true, terminating: false },
    targetRef: { kind: "Pod", name: `web-${i}`, namespace: "shop", uid: String(i) },
    ...{ nodeName, zone: "z1", hints: { forZones: [{ name: "z1" }] } },
  })),
};

test("packed objects: rules and health checks of packed Services and EndpointSlices are the same", () => {
  const packSlice = createSlicePacker();
  const [service, slice] = [packService(SERVICE), packSlice(SLICE)];
  assert.deepEqual(
    decideServiceRules(service, [slice], "IPv4", NODE),
    decideServiceRules(SERVICE, [SLICE], "IPv4", NODE),
  );
  assert.deepEqual(
    decideServiceHealth(service, [slice], "n1"),
    decideServiceHealth(SERVICE, [SLICE], "n1"),
  );
  const text = JSON.stringify([
    ...[service.metadata, service.spec, service.status],
    ...[slice.metadata, slice.ports, slice.endpoints],
  ]);
  assert.doesNotMatch(text, /managedFields|last-applied|selector|targetRef|"app"/);
  assert.match(text, /last-change-trigger-time/);
});

test("packed objects: endpoints share equal conditions", () => {
  const packSlice = createSlicePacker();
  const again = structuredClone(SLICE);
  const [one] = packSlice(SLICE).endpoints ?? [];
  const [other] = packSlice(again).endpoints ?? [];
  assert.equal(one?.conditions, other?.conditions);
});

test("packed objects: an EndpointSlice keeps each endpoint's own conditions, node and hints", () => {
  const endpoints = [
    { addresses: ["10.244.0.1"], conditions: { ready: true }, nodeName: "n1" },
    {
      addresses: ["10.244.0.2"],
      conditions: { ready: false },
      hints: { forNodes: [{ name: "n2" }] },
    },
  ];
  assert.deepEqual(createSlicePacker()({ ...SLICE, endpoints }).endpoints, endpoints);
  assert.deepEqual(createSlicePacker()({ ...SLICE, endpoints: null }).endpoints, []);
});
