import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import type {
  PodDisruptionBudgetSpec,
  PodDisruptionBudgetStatus,
} from "#api/generated/policy.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, partLike, written } from "#testing/decisions.ts";
import { type DisruptionState, disruptionController } from "./disruption.ts";

const NOW = "2030-01-01T01:00:00Z";
const LABELS = { app: "web" };

function pod(name: string, state: "ready" | "unready" | "going" = "ready"): Pod {
  const lastTransitionTime = "2030-01-01T00:00:00Z";
  return build(podKind, {
    metadata: { name, labels: LABELS, ...(state === "going" ? { deletionTimestamp: NOW } : {}) },
    spec: { containers: [{ name: "c" }] },
    status: {
      phase: "Running",
      conditions:
        state === "unready" ? [] : [{ type: "Ready", status: "True", lastTransitionTime }],
    },
  });
}

const PODS = [pod("a"), pod("b"), pod("c"), pod("d", "unready")];
const managed = { expected: 4, unmanaged: false };

interface Row {
  readonly name: string;
  readonly spec: Draft<PodDisruptionBudgetSpec>;
  readonly pods?: readonly Pod[];
  readonly contested?: readonly Pod[];
  readonly scale?: DisruptionState["scale"];
  readonly disrupted?: Readonly<Record<string, string>>;
  /** Allowed, healthy now, healthy wanted, expected. */
  readonly want: readonly [number, number, number, number];
  readonly reason?: string;
  readonly disruptedAfter?: Readonly<Record<string, string>> | undefined;
  readonly events?: readonly string[];
  readonly recheckInMs?: number;
}

const UNMANAGED =
  'Warning UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.';

const rows: readonly Row[] = [
  {
    name: "minAvailable 2 of 3 healthy pods allows one disruption",
    spec: { minAvailable: 2 },
    want: [1, 3, 2, 4],
    reason: "SufficientPods",
  },
  {
    name: "minAvailable 3 of 3 healthy pods allows none",
    spec: { minAvailable: 3 },
    want: [0, 3, 3, 4],
  },
  {
    name: "a percentage of minAvailable is rounded up",
    spec: { minAvailable: "30%" },
    want: [1, 3, 2, 4],
  },
  {
    name: "maxUnavailable 2 of 4 pods allows one with 3 healthy",
    spec: { maxUnavailable: 2 },
    want: [1, 3, 2, 4],
  },
  {
    name: "a percentage of maxUnavailable is rounded up",
    spec: { maxUnavailable: "30%" },
    want: [1, 3, 2, 4],
  },
  {
    name: "maxUnavailable above the number of pods allows all",
    spec: { maxUnavailable: 9 },
    want: [3, 3, 0, 4],
    reason: "SufficientPods",
  },
  {
    name: "a pod that is being deleted is not healthy",
    spec: { minAvailable: 2 },
    pods: [pod("a"), pod("b"), pod("c", "going")],
    want: [0, 2, 2, 3],
  },
  {
    name: "a budget without matching pods records NoPods",
    spec: { minAvailable: 1 },
    pods: [],
    scale: { expected: 0, unmanaged: false },
    want: [0, 0, 1, 0],
    events: ["Normal NoPods: No matching pods found"],
  },
  {
    name: "pods without a controller cannot be counted with maxUnavailable in percent",
    spec: { maxUnavailable: "50%" },
    pods: [pod("a")],
    scale: { expected: 0, unmanaged: true },
    want: [0, 1, 0, 0],
    events: [UNMANAGED],
  },
  {
    name: "an eviction under way counts as gone, for two minutes",
    spec: { minAvailable: 1 },
    disrupted: { a: "2030-01-01T00:59:30Z" },
    want: [1, 2, 1, 4],
    disruptedAfter: { a: "2030-01-01T00:59:30Z" },
    recheckInMs: 90_001,
  },
  {
    name: "an eviction that nothing came of is forgotten",
    spec: { minAvailable: 1 },
    disrupted: { a: "2030-01-01T00:57:00Z" },
    want: [2, 3, 1, 4],
    disruptedAfter: undefined,
    events: [
      "Warning NotDeleted: Pod was expected by PDB default/default to be deleted but it wasn't",
    ],
  },
  {
    name: "a pod with several budgets",
    spec: { minAvailable: 1 },
    contested: [PODS[0]!],
    want: [2, 3, 1, 4],
    events: [
      'Warning MultiplePodDisruptionBudgets: Pod "default"/"a" matches multiple PodDisruptionBudgets.  Chose "b" arbitrarily.',
    ],
  },
];

describe("PodDisruptionBudget: a budget decides", () => {
  for (const row of rows) {
    test(row.name, () => {
      const { spec, pods = PODS, contested = [], scale = managed, disrupted } = row;
      const budget = build(podDisruptionBudgetKind, {
        metadata: { name: "b", generation: 1 },
        spec: { selector: { matchLabels: LABELS }, ...spec },
        status: disrupted === undefined ? {} : { disruptedPods: disrupted },
      });
      const outcome = disruptionController.decide(
        { budget, pods, contested, scale },
        Date.parse(NOW),
      );
      const { events, recheckInMs } = describeOutcome(outcome);
      assert.deepEqual([events, recheckInMs], [row.events, row.recheckInMs]);
      const status = written(outcome, podDisruptionBudgetKind)?.status;
      const [disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods] = row.want;
      const counts: Partial<PodDisruptionBudgetStatus> = {
        disruptionsAllowed,
        currentHealthy,
        desiredHealthy,
        expectedPods,
      };
      assert.deepEqual(partLike(status, counts), counts);
      assert.deepEqual(status?.disruptedPods, row.disruptedAfter);
      const reason = disruptionsAllowed > 0 ? "SufficientPods" : "InsufficientPods";
      assert.equal(status?.conditions?.[0]?.reason, reason);
    });
  }

  test("a scale that cannot be found allows nothing", () => {
    const budget = build(podDisruptionBudgetKind, {
      metadata: { name: "b" },
      spec: { maxUnavailable: "50%" },
    });
    const state = { budget, pods: PODS, contested: [], scale: { error: "found no controllers" } };
    const outcome = disruptionController.decide(state, Date.parse(NOW));
    assert.deepEqual(describeOutcome(outcome).events, [
      "Warning CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: found no controllers",
    ]);
    const condition = written(outcome, podDisruptionBudgetKind)?.status.conditions?.[0];
    assert.deepEqual([condition?.status, condition?.reason], ["False", "SyncFailed"]);
  });
});
