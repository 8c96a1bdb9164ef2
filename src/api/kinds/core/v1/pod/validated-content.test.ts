import assert from "node:assert/strict";
import { test } from "vitest";
import { normalizerOf } from "#api/codec/normalizer.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import type { Draft, RuleContext } from "#api/kind.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import { podOf } from "#api/testing/run-pod.ts";
import { finish } from "#lib/async/steps.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { defaultPod } from "./defaults.ts";
import { validatePodUpdate } from "./update.ts";

const CONTEXT: RuleContext = { nowMs: 0, allowPrivileged: true };
const old = stored({
  containers: [{ name: "c", image: "i", securityContext: { privileged: true } }],
});

function stored(spec: Record<string, unknown>): Pod {
  const metadata = {
    name: "p",
    namespace: "n",
    uid: "u",
    resourceVersion: "1",
    creationTimestamp: "2030-01-01T00:00:00Z",
  };
  const pod = normalizerOf(schemaOf("core.v1.Pod"))(podOf(spec, metadata)) as Draft<Pod>;
  defaultPod(pod);
  return deepFreeze(pod) as Pod;
}

function faultsOf(metadata: Pod["metadata"], before: Pod = old, context = CONTEXT): string[] {
  const pod = { ...before, metadata: { ...before.metadata, ...metadata } };
  return finish(validatePodUpdate(pod, before, context)).map(({ field }) => field);
}

test("a spec that was found sound is sound for other labels, and for nothing else", () => {
  const costly = { "controller.kubernetes.io/pod-deletion-cost": "much" };
  for (const round of ["first", "again"]) {
    assert.deepEqual(faultsOf({ labels: { round } }), []);
    assert.deepEqual(faultsOf({ labels: { "not a name": "" } }).slice(0, 1), ["metadata.labels"]);
    assert.deepEqual(faultsOf({ annotations: costly }), [
      `metadata.annotations[controller.kubernetes.io/pod-deletion-cost]`,
      `metadata.annotations[controller.kubernetes.io/pod-deletion-cost]`,
    ]);
    assert.deepEqual(faultsOf({}, old, { nowMs: 0, allowPrivileged: false }), [
      "spec.containers[0].securityContext.privileged",
    ]);
  }
});

test("an error of the stored pod is reported on each update", () => {
  const broken = stored({ containers: [{ name: "c", image: " i" }] });
  const [first, again] = [faultsOf({}, broken), faultsOf({}, broken)];
  assert.ok(first.length > 0);
  assert.deepEqual(again, first);
});
