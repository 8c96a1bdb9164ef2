import assert from "node:assert/strict";
import { test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { podResources, scoredResources } from "./resources.ts";

test("pod-level requests count for the fit of a pod and not for the score of NodeResourcesFit", () => {
  const pod = build(podKind, {
    metadata: { name: "p" },
    spec: {
      resources: { requests: { cpu: "2" } },
      containers: [
        { name: "a", image: "x", resources: { requests: { cpu: "500m", memory: "1Gi" } } },
        { name: "b", image: "x" },
      ],
    },
  });
  assert.equal(podResources(pod).milliCpu, 2_000);
  const scored = scoredResources(pod);
  assert.equal(scored.milliCpu, 600);
  assert.equal(scored.memory, (1024 + 200) * 1024 * 1024);
});
