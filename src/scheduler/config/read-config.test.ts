import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { readConfig } from "./read-config.ts";

const head = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" };

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
      error: /^profiles\[1\].schedulerName: Duplicate value: "profiles\[0\].schedulerName"$/,
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
});
