import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { build } from "#testing/build.ts";
import { trimPod, trimService, trimSlice } from "./trim-objects.ts";
import { PodAddresses } from "./zone/pod-addresses.ts";
import { serviceEntryOf, serviceNameOf, sliceEntryOf } from "./zone/service-entry.ts";

const NOISE = { labels: { a: "b" }, annotations: { c: "d" }, resourceVersion: "7" };
const PORTS = [{ name: "Http", port: 80, protocol: "TCP" as const }];

test("trimmed Services have the same records", () => {
  for (const spec of [
    { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "fd00::1"], ports: PORTS },
    { clusterIP: "10.0.0.1", ports: PORTS, selector: { a: "b" } },
    { clusterIP: "None", clusterIPs: ["None"] },
    { type: "ExternalName" as const, externalName: "Example.org." },
  ]) {
    const service = build(serviceKind, { metadata: { name: "s", ...NOISE }, spec });
    const trimmed = trimService(service);
    assert.deepEqual(serviceEntryOf(trimmed), serviceEntryOf(service));
    assert.deepEqual(Object.keys(trimmed.metadata).sort(), [
      "name",
      "namespace",
      "resourceVersion",
    ]);
  }
});

test("trimmed EndpointSlices have the same records, without endpoints that are not ready", () => {
  const labels = { ...NOISE.labels, "kubernetes.io/service-name": "s" };
  const slice = build(endpointSliceKind, {
    metadata: { name: "s-1", ...NOISE, labels },
    endpoints: [
      { addresses: ["10.0.0.1"], conditions: { ready: true }, hostname: "web-0", nodeName: "n" },
      { addresses: ["10.0.0.2"], conditions: {} },
      { addresses: ["10.0.0.3"], conditions: { ready: false } },
    ],
    ports: PORTS,
  });
  const trimmed = trimSlice(slice);
  assert.deepEqual(sliceEntryOf(trimmed), sliceEntryOf(slice));
  assert.equal(serviceNameOf(trimmed), "s");
  assert.equal(trimmed.endpoints?.length, 2);
});

test("trimmed pods have the same addresses; pods on the host's network have none", () => {
  for (const { spec, has } of [
    { spec: { containers: [] }, has: true },
    { spec: { containers: [], hostNetwork: true }, has: false },
  ]) {
    const status = { phase: "Running" as const, podIPs: [{ ip: "10.0.0.9" }] };
    const pod = build(podKind, { metadata: { name: "p", ...NOISE }, spec, status });
    const pods = new PodAddresses();
    pods.put(trimPod(pod));
    assert.equal(pods.has(pod.metadata.namespace ?? "", [10, 0, 0, 9]), has);
  }
});
