import assert from "node:assert/strict";
import { test } from "vitest";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import { TriggerTimes } from "./trigger-times.ts";

const START_MS = Date.parse("2030-01-01T00:00:00Z");
const slice = (time: string): EndpointSlice => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { annotations: { "endpoints.kubernetes.io/last-change-trigger-time": time } },
  addressType: "IPv4",
  endpoints: [],
  ports: [],
});

test("kubeproxy_network_programming_duration_seconds: from the trigger time to the written rules", () => {
  const times = new TriggerTimes(START_MS);
  times.add(slice("2029-12-31T23:59:59Z"), undefined); // before the proxy began
  times.add(slice("2030-01-01T00:00:01Z"), undefined);
  times.add(slice("2030-01-01T00:00:01Z"), slice("2030-01-01T00:00:01Z")); // no new change
  times.begin();
  times.add(slice("2030-01-01T00:00:02Z"), undefined); // its rules come later
  assert.deepEqual(times.end(START_MS + 3_500), [2.5]);
  times.begin();
  assert.deepEqual(times.end(START_MS + 4_000), [2]);
});
