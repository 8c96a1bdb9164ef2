import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PodCondition } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { build } from "#testing/build.ts";
import { startCluster } from "#testing/cluster.ts";
import { describeOutcome, type OutcomeText } from "#testing/decisions.ts";
import { decide, staleDisruptionTargets } from "./stale-target.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const target = (seconds: number, more: Partial<PodCondition> = {}): PodCondition => ({
  type: "DisruptionTarget",
  status: "True",
  reason: "PreemptionByScheduler",
  lastTransitionTime: timeFromMs(NOW_MS - seconds * 1000),
  ...more,
});

describe("condition DisruptionTarget of a pod", () => {
  const nothing: OutcomeText = { writes: [] };
  const rows: {
    name: string;
    condition?: PodCondition;
    phase?: "Failed";
    going?: boolean;
    want: OutcomeText;
  }[] = [
    { name: "a pod without the condition needs nothing", want: nothing },
    {
      name: "a pod that was to be deleted less than two minutes ago is looked at again then",
      condition: target(100),
      want: { writes: [], recheckInMs: 20_000 },
    },
    {
      name: "the condition of a pod that was not deleted within two minutes is set to False",
      condition: target(120),
      want: { writes: ["update Pod p/status"] },
    },
    {
      name: "a pod that is being deleted keeps its condition",
      condition: target(120),
      going: true,
      want: nothing,
    },
    {
      name: "a pod that has ended keeps its condition",
      condition: target(120),
      phase: "Failed",
      want: nothing,
    },
    {
      name: "a condition that the kubelet set (TerminationByKubelet) is kept",
      condition: target(120, { reason: "TerminationByKubelet" }),
      want: nothing,
    },
    {
      name: "a condition that is False needs nothing",
      condition: target(120, { status: "False" }),
      want: nothing,
    },
  ];
  for (const { name, condition, phase, going, want } of rows) {
    test(name, () => {
      const pod = build(podKind, {
        metadata: { name: "p", ...(going ? { deletionTimestamp: timeFromMs(NOW_MS) } : {}) },
        spec: { containers: [{ name: "c", image: "i" }] },
        status: {
          phase: phase ?? "Running",
          conditions: condition === undefined ? [] : [condition],
        },
      });
      assert.deepEqual(describeOutcome(decide(pod, NOW_MS)), want);
    });
  }
});

test("PodDisruptionBudget: after two minutes the word is taken back", async () => {
  const at = timeFromMs(NOW_MS);
  await using cluster = await startCluster({ at, controllers: [staleDisruptionTargets] });
  await cluster.seed(podKind, {
    metadata: { name: "p", generation: 2 },
    spec: { containers: [{ name: "c", image: "i" }] },
    status: { phase: "Running", conditions: [target(0), { type: "Ready", status: "True" }] },
  });
  await cluster.advance(119_000);
  const conditions = () => cluster.get(podKind, "p")?.status.conditions;
  assert.equal(conditions()?.[0]?.status, "True");
  await cluster.advance(1_000);
  assert.deepEqual(conditions()?.[0], {
    type: "DisruptionTarget",
    status: "False",
    observedGeneration: 2,
    lastProbeTime: null,
    lastTransitionTime: "2030-01-01T00:02:00Z",
  });
  assert.equal(conditions()?.[1]?.type, "Ready");
});
