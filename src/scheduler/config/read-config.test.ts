import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { readConfig } from "./read-config.ts";

const head = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" };

const withArgs = (name: string, args: object) => ({
  ...head,
  profiles: [{ pluginConfig: [{ name, args }] }],
});

describe("KubeSchedulerConfiguration", () => {
  test("an empty one has the default profile with upstream's plugins and weights", () => {
    const { scheduler } = readConfig(head);
    const [profile] = scheduler.profiles;
    assert.equal(profile?.schedulerName, "default-scheduler");
    const weights = Object.fromEntries(
      profile!.multiPoint.enabled.flatMap(({ name, weight }) => (weight ? [[name, weight]] : [])),
    );
    assert.deepEqual(weights, {
      TaintToleration: 3,
      NodeAffinity: 2,
      NodeResourcesFit: 1,
      PodTopologySpread: 2,
      InterPodAffinity: 2,
      DynamicResources: 2,
      NodeResourcesBalancedAllocation: 1,
      ImageLocality: 1,
    });
  });

  test("multiPoint: plugins are disabled, replaced in place and appended", () => {
    const multiPoint = {
      disabled: [{ name: "ImageLocality" }],
      enabled: [{ name: "TaintToleration", weight: 7 }, { name: "Own" }],
    };
    const { scheduler } = readConfig({ ...head, profiles: [{ plugins: { multiPoint } }] });
    const { enabled } = scheduler.profiles[0]!.multiPoint;
    assert.ok(!enabled.some(({ name }) => name === "ImageLocality"));
    assert.deepEqual(enabled[4], { name: "TaintToleration", weight: 7 });
    assert.deepEqual(enabled.at(-1), { name: "Own" });
  });

  test.each([
    {
      name: "unknown fields",
      config: {
        ...{ ...head, leaderElection: { bar: 2 }, foo: 1 },
        profiles: [
          {
            ...{ schedulerName: "x", plugons: {} },
            plugins: { score: { enabled: [{ name: "ImageLocality", wait: 3 }] } },
          },
        ],
      },
      error:
        /^strict decoding error: unknown field "foo", unknown field "leaderElection.bar", unknown field "profiles\[0\].plugins.score.enabled\[0\].wait", unknown field "profiles\[0\].plugons"$/,
    },
    {
      name: "unknown fields of plugin arguments",
      config: withArgs("InterPodAffinity", { other: 1, hardPodAffinityWait: 5 }),
      error:
        /^strict decoding error: decoding .profiles\[0\].pluginConfig\[0\]: strict decoding error: decoding args for plugin InterPodAffinity: strict decoding error: unknown field "hardPodAffinityWait", unknown field "other"$/,
    },
    {
      name: "unknown fields inside plugin arguments",
      config: withArgs("NodeResourcesFit", {
        scoringStrategy: { type: "LeastAllocated", resourcez: [] },
      }),
      error:
        /decoding args for plugin NodeResourcesFit: strict decoding error: unknown field "scoringStrategy.resourcez"$/,
    },
    {
      name: "arguments of another plugin",
      config: withArgs("InterPodAffinity", { kind: "NodeAffinityArgs" }),
      error:
        /^decoding .profiles\[0\].pluginConfig\[0\]: args for plugin InterPodAffinity were not of type InterPodAffinityArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs.kubescheduler.config.k8s.io$/,
    },
    {
      name: "another version",
      config: { ...head, apiVersion: "v2" },
      error: /no kind "KubeSchedulerConfiguration" is registered for version "v2"/,
    },
    {
      name: "percentageOfNodesToScore of 101",
      config: { ...head, percentageOfNodesToScore: 101 },
      error: /^percentageOfNodesToScore: Invalid value: 101: not in valid range \[0-100\]$/,
    },
    {
      name: "parallelism of 0",
      config: { ...head, parallelism: 0 },
      error: /^parallelism: Invalid value: 0: should be an integer value greater than zero$/,
    },
    {
      name: "two profiles of one schedulerName",
      config: { ...head, profiles: [{ schedulerName: "a" }, { schedulerName: "a" }] },
      error: /^profiles\[1\].schedulerName: Duplicate value: \{\}$/,
    },
    {
      name: "a maximum back-off below the initial one",
      config: { ...head, podInitialBackoffSeconds: 5, podMaxBackoffSeconds: 2 },
      error:
        /^podMaxBackoffSeconds: Invalid value: 2: must be greater than or equal to PodInitialBackoffSeconds$/,
    },
    {
      name: "two extenders that bind",
      config: { ...head, extenders: [{ bindVerb: "b" }, { bindVerb: "b" }] },
      error: /only one extender can implement bind/,
    },
  ])("$name is refused", ({ config, error }) => {
    assert.throws(() => readConfig(config), { message: error });
  });

  test("pluginConfig: arguments of NodeResourcesFit get upstream's defaults", () => {
    const strategy = { type: "MostAllocated", resources: [{ name: "cpu" }] };
    const { scheduler } = readConfig(withArgs("NodeResourcesFit", { scoringStrategy: strategy }));
    assert.deepEqual(scheduler.profiles[0]!.args.NodeResourcesFit, {
      scoringStrategy: { type: "MostAllocated", resources: [{ name: "cpu", weight: 1 }] },
    });
  });

  const at = "profiles[0].pluginConfig[0].args";
  const requiredAt = `${at}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution`;
  const fit =
    'initializing profiles: creating profile for scheduler name default-scheduler: initializing plugin "NodeResourcesFit": ';
  test.each([
    {
      plugin: "DefaultPreemption",
      args: { minCandidateNodesPercentage: 101, minCandidateNodesAbsolute: -1 },
      error: `[${at}.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100], ${at}.minCandidateNodesAbsolute: Invalid value: -1: not in valid range [0, inf)]`,
    },
    {
      plugin: "DefaultPreemption",
      args: { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 },
      error: `[${at}.minCandidateNodesPercentage: Invalid value: 0: cannot be zero at the same time as minCandidateNodesAbsolute, ${at}.minCandidateNodesAbsolute: Invalid value: 0: cannot be zero at the same time as minCandidateNodesPercentage]`,
    },
    {
      plugin: "InterPodAffinity",
      args: { hardPodAffinityWeight: 101 },
      error: `${at}.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]`,
    },
    {
      plugin: "PodTopologySpread",
      args: {
        defaultConstraints: [{ maxSkew: 0, topologyKey: "zone", whenUnsatisfiable: "Never" }],
      },
      error: `[${at}.defaultingType: Invalid value: "System": when .defaultConstraints are not empty, ${at}.defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf), ${at}.defaultConstraints[0].whenUnsatisfiable: Unsupported value: "Never": supported values: "DoNotSchedule", "ScheduleAnyway"]`,
    },
    {
      plugin: "NodeResourcesBalancedAllocation",
      args: { resources: [{ name: "cpu", weight: 2 }, { name: "cpu" }] },
      error: `[${at}.resources[0].weight: Invalid value: 2: must be 1, ${at}.resources[1].name: Duplicate value: "cpu"]`,
    },
    {
      plugin: "VolumeBinding",
      args: { bindTimeoutSeconds: -1 },
      error: `${at}.bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value`,
    },
    {
      plugin: "DynamicResources",
      args: { filterTimeout: "-1s", bindingTimeout: "10ms" },
      error: `[${at}.filterTimeout: Invalid value: "-1s": must be zero or positive, ${at}.bindingTimeout: Invalid value: "10ms": must be at least 1 second]`,
    },
    {
      plugin: "NodeAffinity",
      args: {
        addedAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "Exists" }] }],
          },
        },
      },
      error: `${requiredAt}.nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: "Exists": supported values: "In", "NotIn"`,
    },
    {
      plugin: "NodeResourcesFit",
      args: {
        ignoredResourceGroups: ["a/b"],
        scoringStrategy: { type: "Random", resources: [{ name: "cpu", weight: 101 }] },
      },
      error: `${fit}[ignoredResourceGroups[0]: Invalid value: "a/b": resource group name can't contain '/', scoringStrategy.type: Unsupported value: "Random": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", scoringStrategy.resources[0].weight: Invalid value: 101: resource weight of cpu not in valid range (0, 100]]`,
    },
    {
      plugin: "NodeResourcesFit",
      args: {
        scoringStrategy: {
          type: "RequestedToCapacityRatio",
          requestedToCapacityRatio: {
            shape: [
              { utilization: 50, score: 0 },
              { utilization: 0, score: 11 },
            ],
          },
        },
      },
      error: `${fit}[scoringStrategy.requestedToCapacityRatio.shape[1].utilization: Invalid value: 0: values must be sorted in increasing order, scoringStrategy.requestedToCapacityRatio.shape[1].score: Invalid value: 11: not in valid range [0, 10]]`,
    },
  ])("pluginConfig of $plugin: $args is refused", ({ plugin, args, error }) => {
    assert.throws(() => readConfig(withArgs(plugin, args)), { message: error });
  });
});
