/** LimitRanges and ResourceQuotas. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { LimitRange, ResourceQuota } from "#api/generated/core.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { limitRangeKind } from "./limit-range.ts";
import { resourceQuotaKind } from "./resource-quota.ts";

const limits = (...items: readonly object[]) => ({ object: { spec: { limits: items } } });
const quota = (spec: object) => ({ object: { spec } });

describe("limit ranges", () => {
  test("containers get defaults from the bounds", () => {
    const { object } = runKind(
      limitRangeKind,
      limits({ type: "Container", max: { cpu: "2" }, min: { memory: "1Mi", cpu: "100m" } }),
    );
    assert.deepEqual((object as LimitRange).spec.limits?.[0], {
      type: "Container",
      max: { cpu: "2" },
      min: { cpu: "100m", memory: "1Mi" },
      default: { cpu: "2" },
      defaultRequest: { cpu: "2", memory: "1Mi" },
    });
  });

  test("amounts are rounded up to thousandths", () => {
    const { object } = runKind(limitRangeKind, limits({ type: "Pod", max: { cpu: "1500100n" } }));
    assert.deepEqual((object as LimitRange).spec.limits?.[0]?.max, { cpu: "2m" });
  });

  test("the one kind that may come without a name takes its uid", () => {
    const { object } = runKind(limitRangeKind, {
      object: { metadata: { name: "", uid: "u-1" }, spec: { limits: [] } },
    });
    assert.equal(object.metadata.name, "u-1");
  });

  const rows = [
    {
      name: "an unknown type",
      write: limits({ type: "Node" }),
      faults: [
        'spec.limits[0].type: Invalid value: "Node": must be a standard limit type or fully qualified',
      ],
    },
    {
      name: "a type twice",
      write: limits({ type: "Pod" }, { type: "Pod" }),
      faults: ['spec.limits[1].type: Duplicate value: "Pod"'],
    },
    {
      name: "defaults for pods",
      write: limits({ type: "Pod", default: { cpu: "1" } }),
      faults: ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
    },
    {
      name: "claims without a bound",
      write: limits({ type: "PersistentVolumeClaim" }),
      faults: [
        "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
      ],
    },
    {
      name: "bounds in the wrong order",
      write: limits({ type: "Pod", min: { cpu: "2" }, max: { cpu: "1" } }),
      faults: [
        'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
      ],
    },
    {
      name: "a ratio below one",
      write: limits({ type: "Pod", maxLimitRequestRatio: { cpu: "500m" } }),
      faults: [
        'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1',
      ],
    },
    {
      name: "a ratio that the bounds cannot reach",
      write: limits({
        type: "Pod",
        min: { cpu: "1" },
        max: { cpu: "1500m" },
        maxLimitRequestRatio: { cpu: "2" },
      }),
      faults: [
        'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "2": ratio 2 is greater than max/min = 1.500000',
      ],
    },
    {
      name: "overcommitted huge pages",
      write: limits({
        type: "Container",
        default: { "hugepages-2Mi": "4Mi" },
        defaultRequest: { "hugepages-2Mi": "2Mi" },
      }),
      faults: [
        'spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(limitRangeKind, write).faults, faults));
  }
});

describe("resource quotas", () => {
  test("a new one has no status", () => {
    const { object } = runKind(resourceQuotaKind, { object: { status: { hard: { pods: "1" } } } });
    assert.deepEqual((object as ResourceQuota).status, {});
  });

  test("cells list what is used of what", () => {
    const { object } = runKind(resourceQuotaKind, {
      object: { status: { hard: { pods: "2", "limits.cpu": "1", cpu: "1" }, used: { pods: "1" } } },
      old: {},
      subresource: "status",
    });
    const cells = resourceQuotaKind.columns.map((column) => column.cell(object, 0));
    assert.deepEqual(cells.slice(1, 3), ["cpu: 0/1, pods: 1/2", "limits.cpu: 0/1"]);
  });

  test("requests above limits are warned about", () => {
    const { warnings } = runKind(
      resourceQuotaKind,
      quota({
        hard: { cpu: "2", "limits.cpu": "1", "requests.memory": "1", "limits.memory": "1" },
      }),
    );
    assert.deepEqual(warnings, ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]);
  });

  const rows = [
    {
      name: "an unknown resource",
      write: quota({ hard: { foo: "1" } }),
      faults: [
        'spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
        'spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota',
      ],
    },
    {
      name: "half a pod",
      write: quota({ hard: { pods: "500m" } }),
      faults: ['spec.hard[pods]: Invalid value: "500m": must be an integer'],
    },
    {
      name: "a scope that says nothing of a resource",
      write: quota({ hard: { cpu: "1" }, scopes: ["BestEffort"] }),
      faults: ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
    },
    {
      name: "scopes that exclude each other",
      write: quota({ scopes: ["Terminating", "NotTerminating"] }),
      faults: ['spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes'],
    },
    {
      name: "an operator that a scope does not know",
      write: quota({
        scopeSelector: { matchExpressions: [{ scopeName: "BestEffort", operator: "In" }] },
      }),
      faults: [
        "spec.scopeSelector.matchExpressions.operator: Invalid value: \"In\": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
        "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ],
    },
    {
      name: "other scopes",
      write: { ...quota({ scopes: ["BestEffort"] }), old: { spec: {} } },
      faults: ['spec.scopes: Invalid value: ["BestEffort"]: field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => {
      assert.deepEqual(runKind(resourceQuotaKind, write).faults, faults);
    });
  }
});
