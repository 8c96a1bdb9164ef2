import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Scale } from "#api/generated/autoscaling.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import type { AutoscalerState } from "./decide.ts";
import { horizontalPodAutoscaler } from "./horizontal-pod-autoscaler.ts";

const AT = "2030-01-01T00:00:00Z";
const controller = horizontalPodAutoscaler();
const autoscaler = build(horizontalPodAutoscalerKind, {
  metadata: { name: "web" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    minReplicas: 2,
    maxReplicas: 6,
    metrics: [
      {
        type: "External",
        external: {
          metric: { name: "jobs" },
          target: { type: "AverageValue", averageValue: "10" },
        },
      },
    ],
  },
});
const pods = ["a", "b", "c"].map((name) => build(podKind, { metadata: { name } }));

function scaleOf(replicas: number): AutoscalerState["scale"] {
  const scale: Scale = {
    metadata: { name: "web", namespace: "default" },
    spec: { replicas },
    status: { replicas, selector: "app=web" },
  };
  return { ok: true, scale, resource: { ...deploymentKind, verbs: [] } };
}

const RESCALE = ["update Deployment web/scale", "update HorizontalPodAutoscaler web/status"];
const STATUS = ["update HorizontalPodAutoscaler web/status"];

const rows: {
  name: string;
  state: Partial<AutoscalerState>;
  want: Omit<OutcomeText, "recheckInMs">;
  to?: number;
  conditions: readonly string[];
}[] = [
  {
    name: "a missing scale gives FailedGetScale",
    state: { scale: { ok: false, error: "gone", isMissing: false } },
    want: { writes: STATUS, events: ["Warning FailedGetScale: gone"] },
    conditions: ["AbleToScale False FailedGetScale"],
  },
  {
    name: "a scale of 0 replicas gives ScalingDisabled",
    state: { scale: scaleOf(0) },
    want: { writes: STATUS },
    conditions: ["AbleToScale True SucceededGetScale", "ScalingActive False ScalingDisabled"],
  },
  {
    name: "fewer than it may have",
    state: { scale: scaleOf(1) },
    want: { writes: RESCALE },
    to: 2,
    conditions: ["AbleToScale True SucceededRescale"],
  },
  {
    name: "more than it may have",
    state: { scale: scaleOf(9) },
    want: { writes: RESCALE },
    to: 6,
    conditions: ["AbleToScale True SucceededRescale"],
  },
  {
    name: "more are needed",
    state: { measured: [{ ok: true, totalMilli: 50_000 }] },
    want: { writes: RESCALE },
    to: 5,
    conditions: [
      "AbleToScale True SucceededRescale",
      "ScalingActive True ValidMetricFound",
      "ScalingLimited False DesiredWithinRange",
    ],
  },
  {
    name: "more than the most are needed",
    state: { measured: [{ ok: true, totalMilli: 990_000 }] },
    want: { writes: RESCALE },
    to: 6,
    conditions: [
      "AbleToScale True SucceededRescale",
      "ScalingActive True ValidMetricFound",
      "ScalingLimited True TooManyReplicas",
    ],
  },
  {
    name: "a metric within tolerance gives DesiredWithinRange",
    state: { measured: [{ ok: true, totalMilli: 30_000 }] },
    want: { writes: STATUS },
    conditions: [
      "AbleToScale True ReadyForNewScale",
      "ScalingActive True ValidMetricFound",
      "ScalingLimited False DesiredWithinRange",
    ],
  },
  {
    name: "failing metrics give FailedGetExternalMetric",
    state: { measured: [{ ok: false, error: "no" }] },
    want: {
      writes: STATUS,
      events: [
        "Warning FailedGetExternalMetric: no",
        "Warning FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get jobs external metric value: failed to get jobs external metric: no",
      ],
    },
    conditions: [
      "AbleToScale True SucceededGetScale",
      "ScalingActive False FailedGetExternalMetric",
    ],
  },
];

describe("HorizontalPodAutoscaler: decide", () => {
  for (const { name, state, want, to, conditions } of rows) {
    test(name, () => {
      const whole: AutoscalerState = {
        autoscaler,
        memory: undefined,
        scale: scaleOf(3),
        rivals: [],
        pods,
        measured: [],
        ...state,
      };
      const outcome = controller.decide(whole, Date.parse(AT));
      assert.deepEqual(describeOutcome(outcome), { ...want, recheckInMs: 15_000 });
      const status = written(outcome, horizontalPodAutoscalerKind)?.status;
      assert.deepEqual(
        status?.conditions?.map((c) => `${c.type} ${c.status} ${c.reason}`),
        conditions,
      );
      const [first] = (outcome.writes ?? []).flat();
      const scaled = first !== undefined && "object" in first ? (first.object as Scale) : undefined;
      assert.equal(scaled?.spec.replicas, to);
    });
  }
});
