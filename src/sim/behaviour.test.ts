import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { behaviourOf, DEFAULT_BEHAVIOUR } from "./behaviour.ts";

function pod(metadata: object): Pod {
  return build(podKind, { metadata: { name: "p", namespace: "default", ...metadata } });
}

const JOB_OWNER = { ownerReferences: [{ kind: "Job", controller: true }] };

const rows = [
  { name: "no annotations: the defaults", metadata: {}, want: {} },
  { name: "a pod of a Job runs for a second", metadata: JOB_OWNER, want: { runMs: 1_000 } },
  {
    name: "sim.k8ts.io/crash-after ends with exit code 1 unless exit-code says otherwise",
    metadata: { annotations: { "sim.k8ts.io/crash-after": "1m30s" } },
    want: { runMs: 90_000, exitCode: 1 },
  },
  {
    name: "sim.k8ts.io/exit-code counts more than crash-after",
    metadata: { annotations: { "sim.k8ts.io/crash-after": "1s", "sim.k8ts.io/exit-code": "7" } },
    want: { runMs: 1_000, exitCode: 7 },
  },
  {
    name: "a rule by label, and an annotation that counts more",
    metadata: { labels: { app: "web" }, annotations: { "sim.k8ts.io/ready-delay": "2s" } },
    want: { startDelayMs: 3_000, readyDelayMs: 2_000 },
  },
  {
    name: "logs, cpu and memory",
    metadata: {
      annotations: {
        "sim.k8ts.io/logs": "a\nb\n",
        "sim.k8ts.io/cpu": "250m",
        "sim.k8ts.io/memory": "1Gi",
      },
    },
    want: { logs: ["a", "b"], cpuMilli: 250, memoryBytes: 2 ** 30 },
  },
];

for (const { name, metadata, want } of rows) {
  test(`simulated pods: ${name}`, () => {
    const rule = { labels: { app: "web" }, behaviour: { startDelayMs: 3_000, readyDelayMs: 1 } };
    const { behaviour, problems } = behaviourOf(pod(metadata), [rule]);
    assert.deepEqual(behaviour, { ...DEFAULT_BEHAVIOUR, ...want });
    assert.deepEqual(problems, []);
  });
}

test("simulated pods: annotations that cannot be read are named and ignored", () => {
  const annotations = {
    "sim.k8ts.io/run-for": "soon",
    "sim.k8ts.io/exit-code": "256",
    "sim.k8ts.io/ready": "perhaps",
    "sim.k8ts.io/memory": "much",
  };
  const { behaviour, problems } = behaviourOf(pod({ annotations }), []);
  assert.deepEqual(behaviour, DEFAULT_BEHAVIOUR);
  assert.deepEqual(
    problems.map((text) => text.split(":")[0]),
    ["ready", "run-for", "exit-code", "memory"],
  );
});
