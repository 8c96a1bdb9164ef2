import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PodDisruptionBudget } from "#api/generated/policy.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { podDisruptionBudgetKind } from "./pod-disruption-budget.ts";

const STATUS = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };

describe("pod disruption budgets", () => {
  const rows = [
    {
      name: "both bounds",
      write: { object: { spec: { minAvailable: 1, maxUnavailable: "10%" } } },
      faults: [
        'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":"10%","UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
      ],
    },
    {
      name: "less than nothing",
      write: { object: { spec: { minAvailable: -1 } } },
      faults: ["spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"],
    },
    {
      name: "more than everything",
      write: { object: { spec: { maxUnavailable: "101%" } } },
      faults: ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
    },
    {
      name: "a word for a number",
      write: { object: { spec: { minAvailable: "all" } } },
      faults: [
        "spec.minAvailable: Invalid value: \"all\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
      ],
    },
    {
      name: "an unknown policy",
      write: { object: { spec: { unhealthyPodEvictionPolicy: "Never" } } },
      faults: [
        'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
      ],
    },
    {
      name: "a selector that cannot be",
      write: {
        object: { spec: { selector: { matchExpressions: [{ key: "a", operator: "In" }] } } },
      },
      faults: [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    },
    {
      name: "counts below nothing in a status",
      write: {
        object: { spec: {}, status: { ...STATUS, currentHealthy: -1, expectedPods: -2 } },
        old: { spec: {} },
        subresource: "status",
      },
      faults: [
        "status.currentHealthy: Invalid value: -1: must be greater than or equal to 0",
        "status.expectedPods: Invalid value: -2: must be greater than or equal to 0",
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(runKind(podDisruptionBudgetKind, write).faults, faults));
  }

  test("a status is made empty and kept by updates", () => {
    const status = { ...STATUS, currentHealthy: 3 };
    const statusOf = (write: Parameters<typeof runKind>[1]) =>
      (runKind(podDisruptionBudgetKind, write).object as PodDisruptionBudget).status;
    assert.deepEqual(statusOf({ object: { spec: {}, status } }), STATUS);
    assert.deepEqual(statusOf({ object: { spec: {} }, old: { spec: {}, status } }), status);
  });

  test("the marker of the old version goes, unless it stands alone", () => {
    const marker = {
      key: "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match",
      operator: "Exists",
    };
    const left = (matchExpressions: object[]) => {
      const { object } = runKind(podDisruptionBudgetKind, {
        object: { spec: { selector: { matchExpressions } } },
      });
      return (object as PodDisruptionBudget).spec.selector?.matchExpressions;
    };
    const other = { key: "a", operator: "Exists" };
    assert.deepEqual(left([marker]), [marker]);
    assert.deepEqual(left([marker, other]), [other]);
  });

  test("the columns show minAvailable, maxUnavailable and allowed disruptions", () => {
    const outcome = runKind(podDisruptionBudgetKind, { object: { spec: { minAvailable: "50%" } } });
    assert.deepEqual(cellsOf(podDisruptionBudgetKind, outcome).slice(1, 4), ["50%", "N/A", 0]);
  });
});
