import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { HorizontalPodAutoscalerBehavior } from "#api/generated/autoscaling.v2.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Cluster } from "#testing/cluster.ts";
import { type History, normalize, withChange } from "./limits.ts";
import { AT, LONG_AGO, startMeasuredWorld } from "./measured-world.testing.ts";
import type { PodMeasure } from "./measurements.ts";
import { replicasForShare, replicasForUtilization, replicasForValue } from "./replicas.ts";
import { type AutoscalerSettings, DEFAULT_SETTINGS } from "./settings.ts";

const AT_MS = Date.parse(AT);
const tolerances = { up: 0.1, down: 0.1 };

type Usage = number | "missing" | "pending" | "failed" | "starting";

function pod(name: string, usage: Usage): Pod {
  const phase = usage === "pending" ? "Pending" : usage === "failed" ? "Failed" : "Running";
  const since = usage === "starting" ? AT : LONG_AGO;
  return {
    metadata: { name },
    spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }] },
    status: {
      phase,
      startTime: since,
      conditions: [{ type: "Ready", status: "True", lastTransitionTime: since }],
    },
  };
}

function measures(usages: readonly Usage[]): ReadonlyMap<string, PodMeasure> {
  const known = usages.flatMap((usage, i) => {
    if (usage === "missing") return [];
    const milli = typeof usage === "number" ? usage : 2000;
    return [[`p${i}`, { milli, atMs: AT_MS, windowMs: 30_000 }] as const];
  });
  return new Map(known);
}

describe("replicas for a utilization of 50 % of one cpu", () => {
  const rows: { name: string; usages: readonly Usage[]; want: number }[] = [
    { name: "twice the target doubles", usages: [1000, 1000], want: 4 },
    { name: "half the target halves", usages: [250, 250], want: 1 },
    { name: "within tolerance nothing changes", usages: [540, 540], want: 2 },
    { name: "just beyond the tolerance the replicas change", usages: [560, 560], want: 3 },
    { name: "parts are rounded up", usages: [600, 600, 600], want: 4 },
    { name: "pods that fail are not counted", usages: [1000, "failed"], want: 2 },
    {
      name: "pods without metrics count as idle on the way up",
      usages: [1000, 1000, "missing"],
      want: 4,
    },
    {
      name: "a pod without metrics counts as busy on the way down",
      usages: [100, "missing"],
      want: 2,
    },
    { name: "pending pods count as idle on the way up", usages: [1000, "pending"], want: 2 },
    {
      name: "pods that have just started count as idle on the way up",
      usages: [2000, "starting"],
      want: 4,
    },
    { name: "pending pods do not count on the way down", usages: [100, 100, "pending"], want: 1 },
  ];
  for (const { name, usages, want } of rows) {
    test(name, () => {
      const pods = usages.map((usage, i) => pod(`p${i}`, usage));
      const question = {
        currentReplicas: usages.length,
        measures: measures(usages),
        pods,
        tolerances,
        resource: "cpu",
        settings: DEFAULT_SETTINGS,
        nowMs: AT_MS,
      };
      const proposal = replicasForUtilization(question, 50, undefined);
      assert.equal(proposal.ok && proposal.replicas, want);
    });
  }

  test("metrics that cannot be computed are reported in the condition ScalingActive", () => {
    const bare = {
      ...pod("p0", 1),
      spec: { containers: [{ name: "c", image: "i", resources: {} }] },
    };
    const settings = DEFAULT_SETTINGS;
    const base = { currentReplicas: 1, tolerances, resource: "cpu", settings, nowMs: AT_MS };
    const of = (pods: readonly Pod[], usages: readonly Usage[]) =>
      replicasForUtilization({ ...base, pods, measures: measures(usages) }, 50, undefined);
    const errors = [
      of([], [1]),
      of([bare], [1]),
      of([pod("p0", "pending")], ["pending"]),
      of([bare], ["missing"]),
    ].map((proposal) => proposal.ok || proposal.error);
    assert.deepEqual(errors, [
      "no pods returned by selector while calculating replica count",
      "missing request for cpu in container c of Pod p0",
      "did not receive metrics for targeted pods (pods might be unready)",
      "did not receive metrics for targeted pods (pods might be unready)",
    ]);
  });

  test("replicasForValue and replicasForShare divide one number for all pods", () => {
    const pods = [pod("p0", 1), pod("p1", 1)];
    const value = replicasForValue(2, pods, 30_000, 10_000, tolerances);
    assert.deepEqual(value, { ok: true, replicas: 6, usageMilli: 30_000 });
    const share = replicasForShare(2, 30_000, 10_000, tolerances);
    assert.deepEqual(share, { ok: true, replicas: 3, usageMilli: 15_000 });
  });
});

describe("cpuInitializationMs: how long a pod is starting", () => {
  const at = (secondsAgo: number): string => timeFromMs(AT_MS - secondsAgo * 1000);
  interface Row {
    readonly name: string;
    readonly startedAgo: number;
    readonly changedAgo: number;
    readonly ready: "True" | "False";
    readonly settings?: Partial<AutoscalerSettings>;
    readonly counts: boolean;
  }
  const rows: readonly Row[] = [
    {
      name: "a young pod that was ready for a whole metrics window counts",
      startedAgo: 60,
      changedAgo: 30,
      ready: "True",
      counts: true,
    },
    {
      name: "a young pod that was not ready for a whole metrics window does not count",
      startedAgo: 60,
      changedAgo: 29,
      ready: "True",
      counts: false,
    },
    {
      name: "a young pod that is not ready does not count",
      startedAgo: 299,
      changedAgo: 200,
      ready: "False",
      counts: false,
    },
    {
      name: "an old pod that was never ready does not count",
      startedAgo: 300,
      changedAgo: 271,
      ready: "False",
      counts: false,
    },
    {
      name: "an old pod that was ready before counts",
      startedAgo: 300,
      changedAgo: 270,
      ready: "False",
      counts: true,
    },
    {
      name: "a shorter initialization period lets a pod count sooner",
      startedAgo: 60,
      changedAgo: 20,
      ready: "True",
      settings: { cpuInitializationMs: 60_000 },
      counts: true,
    },
    {
      name: "a longer initialization period lets a pod count later",
      startedAgo: 500,
      changedAgo: 20,
      ready: "True",
      settings: { cpuInitializationMs: 600_000 },
      counts: false,
    },
    {
      name: "a longer initialReadinessDelayMs lets a pod count later",
      startedAgo: 300,
      changedAgo: 200,
      ready: "False",
      settings: { initialReadinessDelayMs: 120_000 },
      counts: false,
    },
    {
      name: "an initialReadinessDelayMs of 0 lets a pod count",
      startedAgo: 300,
      changedAgo: 290,
      ready: "False",
      settings: { initialReadinessDelayMs: 0 },
      counts: true,
    },
  ];
  for (const { name, startedAgo, changedAgo, ready, settings, counts } of rows) {
    test(name, () => {
      const condition = { type: "Ready", status: ready, lastTransitionTime: at(changedAgo) };
      const status = { phase: "Running", startTime: at(startedAgo), conditions: [condition] };
      const proposal = replicasForUtilization(
        {
          currentReplicas: 1,
          measures: measures([1000]),
          pods: [{ ...pod("p0", 1000), status }],
          tolerances,
          resource: "cpu",
          settings: { ...DEFAULT_SETTINGS, ...settings },
          nowMs: AT_MS,
        },
        50,
        undefined,
      );
      assert.equal(proposal.ok, counts);
    });
  }
});

describe("HorizontalPodAutoscaler: limits", () => {
  const rate = (
    value: number,
    select: "Max" | "Min" | "Disabled" = "Max",
  ): HorizontalPodAutoscalerBehavior => {
    const policies = [
      { type: "Pods", value, periodSeconds: 60 },
      { type: "Percent", value: 100, periodSeconds: 60 },
    ] as const;
    const rules = { stabilizationWindowSeconds: 0, selectPolicy: select, policies };
    return { scaleUp: rules, scaleDown: rules };
  };
  const none: History = { recommendations: [], changes: [] };
  const ago = (replicas: number, seconds: number) => ({ replicas, atMs: AT_MS - seconds * 1000 });
  const rows: {
    name: string;
    wanted: number;
    current?: number;
    behavior?: HorizontalPodAutoscalerBehavior;
    history?: History;
    want: readonly [number, string, string];
  }[] = [
    {
      name: "a number within the limits is taken",
      wanted: 6,
      want: [6, "ReadyForNewScale", "DesiredWithinRange"],
    },
    {
      name: "more than maxReplicas gives TooManyReplicas",
      wanted: 60,
      current: 18,
      want: [20, "ReadyForNewScale", "TooManyReplicas"],
    },
    {
      name: "fewer than minReplicas gives TooFewReplicas",
      wanted: 1,
      want: [2, "ReadyForNewScale", "TooFewReplicas"],
    },
    {
      name: "the replicas at most double at once (ScaleUpLimit)",
      wanted: 15,
      want: [10, "ReadyForNewScale", "ScaleUpLimit"],
    },
    {
      name: "a higher recommendation of the last five minutes holds it (ScaleDownStabilized)",
      wanted: 3,
      history: { ...none, recommendations: [ago(5, 299)] },
      want: [5, "ScaleDownStabilized", "DesiredWithinRange"],
    },
    {
      name: "a recommendation of more than five minutes ago does not hold it",
      wanted: 3,
      history: { ...none, recommendations: [ago(5, 301)] },
      want: [3, "ReadyForNewScale", "DesiredWithinRange"],
    },
    {
      name: "the larger of the policies",
      wanted: 15,
      behavior: rate(2),
      want: [10, "ReadyForNewScale", "ScaleUpLimit"],
    },
    {
      name: "the smaller of the policies",
      wanted: 15,
      behavior: rate(2, "Min"),
      want: [7, "ReadyForNewScale", "ScaleUpLimit"],
    },
    {
      name: "what was added in the period counts",
      wanted: 15,
      behavior: rate(2, "Min"),
      history: { ...none, changes: [ago(2, 30)] },
      want: [5, "ReadyForNewScale", "ScaleUpLimit"],
    },
    {
      name: "a scaleDown policy limits the step (ScaleDownLimit)",
      wanted: 2,
      behavior: rate(1, "Min"),
      want: [4, "ReadyForNewScale", "ScaleDownLimit"],
    },
    {
      name: "selectPolicy Disabled never scales down",
      wanted: 2,
      behavior: rate(1, "Disabled"),
      want: [5, "ReadyForNewScale", "ScaleDownLimit"],
    },
    {
      name: "a lower one of late holds it down",
      wanted: 9,
      behavior: { ...rate(9), scaleUp: { ...rate(9).scaleUp, stabilizationWindowSeconds: 60 } },
      history: { ...none, recommendations: [ago(6, 30)] },
      want: [6, "ScaleUpStabilized", "DesiredWithinRange"],
    },
  ];
  for (const { name, wanted, current = 5, behavior, history = none, want } of rows) {
    test(name, () => {
      const normal = normalize(
        wanted,
        current,
        { min: 2, max: 20, behavior, downscaleSeconds: 300 },
        history,
        AT_MS,
      );
      const { replicas, stabilized, limited } = normal;
      assert.deepEqual([replicas, stabilized.reason, limited.reason], want);
    });
  }
});

describe("HorizontalPodAutoscaler: changes that are remembered", () => {
  const policies = (periodSeconds: number) => ({
    policies: [{ type: "Pods", value: 4, periodSeconds } as const],
  });
  const behavior = { scaleUp: policies(15), scaleDown: policies(60) };
  const at = (replicas: number, seconds: number) => ({ replicas, atMs: seconds * 1000 });
  const rows = [
    { name: "all within the period", before: [at(8, 0)], change: at(4, 15), want: [0, 15] },
    { name: "a new one instead of an old one", before: [at(8, 0)], change: at(4, 16), want: [16] },
    { name: "the last of several", before: [at(1, 0), at(2, 1)], change: at(4, 20), want: [0, 20] },
    { name: "none of the other kind", before: [at(8, 0)], change: at(-4, 99), want: [0, 99] },
    {
      name: "each for as long as its own kind",
      before: [at(-8, 0)],
      change: at(-4, 60),
      want: [0, 60],
    },
  ];
  for (const { name, before, change, want } of rows) {
    test(name, () => {
      const kept = withChange(before, change, behavior);
      assert.deepEqual(
        kept.map(({ atMs }) => atMs / 1000),
        want,
      );
    });
  }
});

describe("HorizontalPodAutoscaler: autoscaler in a cluster", () => {
  test("up at once, down after five minutes of calm", async () => {
    const load = { milli: 1000 };
    await using cluster = await world(load);
    assert.equal(replicasOf(cluster), 4);
    const { status } = cluster.get(horizontalPodAutoscalerKind, "web")!;
    assert.deepEqual([status.currentReplicas, status.desiredReplicas], [2, 4]);
    assert.deepEqual(status.currentMetrics, [
      {
        type: "Resource",
        resource: { name: "cpu", current: { averageUtilization: 100, averageValue: "1" } },
      },
    ]);
    assert.deepEqual(conditions(cluster), {
      AbleToScale: "True SucceededRescale",
      ScalingActive: "True ValidMetricFound",
      ScalingLimited: "False DesiredWithinRange",
    });
    assert.deepEqual(
      cluster.events.map(({ reason, message }) => `${reason}: ${message}`),
      [
        "SuccessfulRescale: New size: 4; reason: cpu resource utilization (percentage of request) above target",
      ],
    );
    load.milli = 100;
    await cluster.edit(deploymentKind, "web", (d) => void (d.status.replicas = 4));
    await cluster.advance(4 * 60_000);
    assert.equal(replicasOf(cluster), 4);
    assert.equal(conditions(cluster).AbleToScale, "True ScaleDownStabilized");
    await cluster.advance(2 * 60_000);
    assert.equal(replicasOf(cluster), 1);
    assert.equal(cluster.events.at(-1)?.message, "New size: 1; reason: All metrics below target");
  });

  test("no metrics, no target, no replicas", async () => {
    await using cluster = await world(undefined);
    assert.equal(conditions(cluster).ScalingActive, "False FailedGetResourceMetric");
    assert.equal(
      cluster.events[0]?.message,
      "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch " +
        "metrics from resource metrics API: the server could not find the requested resource " +
        "(get pods.metrics.k8s.io)",
    );
    assert.equal(cluster.events[1]?.reason, "FailedComputeMetricsReplicas");
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.replicas = 0));
    await cluster.advance(15_000);
    assert.equal(conditions(cluster).ScalingActive, "False ScalingDisabled");
    await cluster.edit(deploymentKind, "web", (d) => void (d.spec.replicas = 50));
    await cluster.advance(15_000);
    assert.equal(replicasOf(cluster), 20);
    const key = { namespace: "default", name: "web" };
    assert.ok((await cluster.client.delete(deploymentKind, key)).ok);
    await cluster.advance(15_000);
    assert.equal(conditions(cluster).AbleToScale, "False FailedGetScale");
  });
});

test("HorizontalPodAutoscaler settings: sync period, tolerance and downscale stabilization", async () => {
  const load = { milli: 560 };
  const settings = {
    ...DEFAULT_SETTINGS,
    periodMs: 60_000,
    tolerance: 0.2,
    downscaleSeconds: 60,
  };
  await using cluster = await world(load, settings);
  assert.equal(replicasOf(cluster), 2); // twelve per cent too many
  load.milli = 1000;
  await cluster.advance(59_999);
  assert.equal(replicasOf(cluster), 2);
  await cluster.advance(1);
  assert.equal(replicasOf(cluster), 4);
  load.milli = 100;
  await cluster.edit(deploymentKind, "web", (d) => void (d.status.replicas = 4));
  await cluster.advance(120_000);
  assert.equal(replicasOf(cluster), 1);
});

test("pods that have just started count as soon as flags let them", async () => {
  await using careful = await world({ milli: 1000 }, undefined, AT);
  assert.equal(conditions(careful).ScalingActive, "False FailedGetResourceMetric");
  await using hasty = await world(
    { milli: 1000 },
    { ...DEFAULT_SETTINGS, cpuInitializationMs: 0 },
    AT,
  );
  assert.equal(replicasOf(hasty), 4);
});

test("HorizontalPodAutoscaler: a new one, or one that changes, has its first look after a period", async () => {
  await using cluster = await world({ milli: 500 });
  const { spec } = cluster.get(horizontalPodAutoscalerKind, "web")!;
  const scaleTargetRef = { ...spec.scaleTargetRef, name: "absent" };
  await cluster.seed(horizontalPodAutoscalerKind, {
    metadata: { name: "new" },
    spec: { ...spec, scaleTargetRef },
  });
  const conditionsOfNew = () => cluster.get(horizontalPodAutoscalerKind, "new")?.status.conditions;
  await cluster.advance(14_999);
  assert.equal(conditionsOfNew(), undefined);
  await cluster.advance(1);
  assert.equal(conditionsOfNew()?.[0]?.reason, "FailedGetScale");
});

test("HorizontalPodAutoscaler: two autoscalers of one target leave it alone", async () => {
  await using cluster = await world({ milli: 500 });
  const { spec } = cluster.get(horizontalPodAutoscalerKind, "web")!;
  await cluster.seed(horizontalPodAutoscalerKind, { metadata: { name: "rival" }, spec });
  await cluster.advance(15_000);
  assert.equal(conditions(cluster).ScalingActive, "False AmbiguousSelector");
  assert.equal(
    cluster.events.find(({ reason }) => reason === "AmbiguousSelector")?.message,
    "pods by selector app=web are controlled by multiple HPAs: [{rival default} {web default}]",
  );
});

/** Two pods with this CPU usage each; undefined: no metrics API. */
function world(
  load: { milli: number } | undefined,
  settings?: AutoscalerSettings,
  startTime = LONG_AGO,
): Promise<Cluster> {
  return startMeasuredWorld({
    metric: {
      type: "Resource",
      resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
    },
    answer: (path) =>
      load !== undefined && path.startsWith("/apis/metrics.k8s.io/")
        ? podMetrics(load.milli)
        : undefined,
    ...(settings === undefined ? {} : { settings }),
    startTime,
  });
}

function podMetrics(milli: number): unknown {
  const items = ["p0", "p1"].map((name) => ({
    metadata: { name },
    timestamp: timeFromMs(AT_MS),
    window: "30s",
    containers: [{ name: "c", usage: { cpu: `${milli}m` } }],
  }));
  return { items };
}

function replicasOf(cluster: Cluster): number | undefined {
  return cluster.get(deploymentKind, "web")?.spec.replicas;
}

function conditions(cluster: Cluster): Readonly<Record<string, string>> {
  const { status } = cluster.get(horizontalPodAutoscalerKind, "web")!;
  const list = status.conditions ?? [];
  return Object.fromEntries(list.map((c) => [c.type, `${c.status} ${c.reason}`]));
}
