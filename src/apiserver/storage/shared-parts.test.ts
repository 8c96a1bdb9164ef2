import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "#api/kind.ts";
import { SharedParts } from "./shared-parts.ts";

interface PodLike extends KubeObject {
  readonly spec: { readonly containers: readonly { readonly resources: object }[] };
  readonly status: { readonly conditions: readonly object[] };
}

function pod(name: string, labels: Record<string, string> = { app: "web" }): PodLike {
  return {
    ...{ kind: "Pod", apiVersion: "v1", metadata: { name, labels } },
    spec: { containers: [{ resources: { requests: { cpu: "1" }, limits: {} } }] },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  };
}

test("shared parts: equal labels, conditions and resources of two pods are the same frozen objects", () => {
  const parts = new SharedParts();
  const [a, b] = [pod("a"), pod("b")].map((one) => parts.freeze(one) as PodLike) as [
    PodLike,
    PodLike,
  ];
  assert.deepEqual([a, b], [pod("a"), pod("b")]);
  assert.equal(a.metadata.labels, b.metadata.labels);
  assert.equal(a.status.conditions, b.status.conditions);
  assert.equal(a.spec.containers[0]!.resources, b.spec.containers[0]!.resources);
  assert.notEqual(a.metadata, b.metadata);
  for (const part of [a, a.metadata, a.metadata.labels, a.spec.containers[0]!.resources]) {
    assert.ok(Object.isFrozen(part));
  }
});

test("shared parts: values that differ in a member, its order or an empty list are kept apart", () => {
  const parts = new SharedParts();
  const a = parts.freeze(pod("a", { app: "web", tier: "x" }));
  const b = parts.freeze(pod("b", { tier: "x", app: "web" }));
  assert.deepEqual(Object.keys(b.metadata.labels!), ["tier", "app"]);
  assert.notEqual(a.metadata.labels, b.metadata.labels);
});

test("shared parts: a part with a bigint is frozen and not shared", () => {
  const parts = new SharedParts();
  const big = { ...pod("a"), spec: { limit: { seconds: 9007199254740993n } } };
  const frozen = parts.freeze(big);
  assert.equal(frozen, big);
  assert.ok(Object.isFrozen(big.spec.limit));
});

test("shared parts: however many differ, what comes out is equal to what went in", () => {
  const parts = new SharedParts();
  for (let n = 0; n < 10_000; n++) {
    const frozen = parts.freeze(pod(`p-${n}`, { app: `web-${n % 9_500}` }));
    assert.equal(frozen.metadata.labels?.app, `web-${n % 9_500}`);
  }
});
