import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod, PodStatus } from "#api/generated/core.v1.ts";
import { isStatusChange } from "./status-change.ts";

const READY = { type: "Ready", status: "True" } as const;
const GATE = { type: "example.com/gate", status: "True" } as const;
const OWN: PodStatus = { phase: "Running", conditions: [READY] };

function podWith(change: Partial<Pod> = {}): Pod {
  return {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "a", resourceVersion: "1" } },
    ...{ spec: { containers: [] }, status: { phase: "Pending" } },
    ...change,
  };
}

const ROWS: readonly (readonly [name: string, next: Pod, want: boolean])[] = [
  [
    "status of the kubelet and resourceVersion",
    podWith({ metadata: { name: "a", resourceVersion: "2" }, status: OWN }),
    true,
  ],
  [
    "deletionTimestamp",
    podWith({ metadata: { name: "a", deletionTimestamp: "2026-01-01T00:00:00Z" } }),
    false,
  ],
  ["labels", podWith({ metadata: { name: "a", labels: { a: "b" } } }), false],
  ["spec", podWith({ spec: { containers: [], activeDeadlineSeconds: 5 } }), false],
  [
    "a condition of another writer (readiness gate)",
    podWith({ status: { ...OWN, conditions: [READY, GATE] } }),
    false,
  ],
  [
    "resourceClaimStatuses, which the claim controller writes",
    podWith({ status: { ...OWN, resourceClaimStatuses: [{ name: "gpu" }] } }),
    false,
  ],
];

for (const [name, next, want] of ROWS) {
  test(`pod update: a change of ${name} is ${want ? "" : "not "}only a status change of the kubelet`, () => {
    assert.equal(isStatusChange(podWith(), next, OWN), want);
  });
}
