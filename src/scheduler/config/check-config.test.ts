import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startScheduling } from "../scheduling.testing.ts";
import { readConfig } from "./read-config.ts";

const head = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" };

describe("KubeSchedulerConfiguration is checked in upstream's words", () => {
  const version = '"kubescheduler.config.k8s.io/v1"';
  const removed = `was invalid in version "v1" (KubeSchedulerConfiguration is version ${version})`;
  test.each([
    {
      name: "clientConnection.burst",
      config: { clientConnection: { burst: -1 } },
      error: "clientConnection.burst: Invalid value: -1: must be non-negative",
    },
    {
      name: "leaderElection: leaseDuration is not longer than renewDeadline",
      config: { leaderElection: { leaseDuration: "10s" } },
      error:
        'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
    },
    {
      name: "leaderElection: retryPeriod and resourceLock",
      config: { leaderElection: { retryPeriod: "-1s", resourceLock: "endpoints" } },
      error:
        '[leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero, leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"]',
    },
    {
      name: "leaderElection: retryPeriod with its jitter is not shorter than renewDeadline",
      config: { leaderElection: { retryPeriod: "9s" } },
      error:
        "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor",
    },
    {
      name: "a profile with an empty schedulerName",
      config: { profiles: [{ schedulerName: "" }] },
      error: "profiles[0].schedulerName: Required value",
    },
    {
      name: "a text for a number",
      config: { percentageOfNodesToScore: 1.5, parallelism: "x" },
      error:
        "json: cannot unmarshal number 1.5 into Go struct field KubeSchedulerConfiguration.percentageOfNodesToScore of type int32",
    },
    {
      name: "a number for a text in a list of plugins",
      config: { profiles: [{ plugins: { score: { enabled: [{ name: 5 }] } } }] },
      error:
        "json: cannot unmarshal number into Go struct field Plugin.profiles.plugins.score.enabled.name of type string",
    },
    {
      name: "a text for a list of profiles",
      config: { profiles: "x" },
      error:
        "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.profiles of type []v1.KubeSchedulerProfile",
    },
    {
      name: "a number for a duration",
      config: { leaderElection: { leaseDuration: 5 } },
      error:
        "json: cannot unmarshal number into Go struct field LeaderElectionConfiguration.leaderElection.leaseDuration of type string",
    },
    {
      name: "a text that is no duration",
      config: { extenders: [{ urlPrefix: "http://x", httpTimeout: "y" }] },
      error: 'time: invalid duration "y"',
    },
    {
      name: "a text for a weight in arguments of a plugin",
      config: {
        profiles: [
          {
            pluginConfig: [
              {
                name: "NodeResourcesFit",
                args: { scoringStrategy: { resources: [{ name: "cpu", weight: "x" }] } },
              },
            ],
          },
        ],
      },
      error:
        "decoding .profiles[0].pluginConfig[0]: decoding args for plugin NodeResourcesFit: json: cannot unmarshal string into Go struct field ResourceSpec.scoringStrategy.resources.weight of type int64",
    },
    {
      name: "filterTimeout that is no duration",
      config: {
        profiles: [{ pluginConfig: [{ name: "DynamicResources", args: { filterTimeout: "x" } }] }],
      },
      error:
        'decoding .profiles[0].pluginConfig[0]: decoding args for plugin DynamicResources: time: invalid duration "x"',
    },
    {
      name: "queueSort of two profiles",
      config: {
        profiles: [
          { schedulerName: "a" },
          { schedulerName: "b", plugins: { queueSort: { enabled: [{ name: "Other" }] } } },
        ],
      },
      error:
        'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Other","Weight":0}],"Disabled":null}: must be the same for all profiles',
    },
    {
      name: "two queueSort plugins",
      config: {
        profiles: [{ plugins: { queueSort: { enabled: [{ name: "A" }, { name: "B" }] } } }],
      },
      error:
        "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin can be enabled",
    },
    {
      name: "plugins that were removed",
      config: {
        profiles: [
          {
            plugins: { filter: { enabled: [{ name: "EBSLimits" }] } },
            pluginConfig: [{ name: "GCEPDLimits" }],
          },
        ],
      },
      error: `[profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": ${removed}, profiles[0].pluginConfig[0]: Invalid value: "GCEPDLimits": ${removed}]`,
    },
    {
      name: "managedResources of extenders",
      config: {
        extenders: [
          { managedResources: [{ name: "example.com/a" }, { name: "cpu" }] },
          { managedResources: [{ name: "example.com/a" }] },
        ],
      },
      error:
        '[extenders[0].managedResources[1].name: Invalid value: "cpu": is an invalid extended resource name, extenders[1].managedResources[0].name: Invalid value: "example.com/a": duplicate extender managed resource name]',
    },
  ])("$name", ({ config, error }) => {
    assert.throws(() => readConfig({ ...head, ...config }), { message: error });
  });

  test("leader election: flags come before the file, the file before defaults", () => {
    const file = { ...head, leaderElection: { leaseDuration: "40s", resourceName: "mine" } };
    const { leaderElection } = readConfig(file, { leaseDuration: "30s" });
    assert.deepEqual(leaderElection, {
      ...{ leaderElect: true, leaseDuration: "30s", renewDeadline: "10s", retryPeriod: "2s" },
      ...{ resourceLock: "leases", resourceName: "mine", resourceNamespace: "kube-system" },
    });
    const unset = { ...head, leaderElection: { retryPeriod: "0s", resourceName: "" } };
    assert.equal(readConfig(unset).leaderElection.resourceName, "kube-scheduler");
    assert.equal(readConfig(unset).leaderElection.retryPeriod, "2s");
    const off = { ...head, leaderElection: { leaderElect: false, leaseDuration: "1s" } };
    assert.equal(readConfig(off).leaderElection.leaderElect, false);
  });

  test("managedResources that the scheduler ignores are left out by NodeResourcesFit", () => {
    const managedResources = [
      { name: "example.com/a", ignoredByScheduler: true },
      { name: "example.com/b" },
    ];
    const { scheduler } = readConfig({ ...head, extenders: [{ managedResources }] });
    const args = scheduler.profiles[0]?.args.NodeResourcesFit as { ignoredResources: string[] };
    assert.deepEqual(args.ignoredResources, ["example.com/a"]);
  });
});

describe("KubeSchedulerConfiguration: plugins of a profile are refused with upstream's messages", () => {
  const where = "initializing profiles: creating profile for scheduler name a: ";
  const rows = [
    {
      name: "a plugin that does not exist",
      plugins: { score: { enabled: [{ name: "Foo" }] } },
      error: 'ScorePlugin "Foo" does not exist',
    },
    {
      name: "a multi-point plugin that does not exist",
      plugins: { multiPoint: { enabled: [{ name: "Foo" }] } },
      error: 'PreFilterPlugin "Foo" does not exist',
    },
    {
      name: "a plugin without the hook",
      plugins: { score: { enabled: [{ name: "PrioritySort" }] } },
      error: 'plugin "PrioritySort" does not extend ScorePlugin plugin',
    },
    {
      name: "a plugin named twice",
      plugins: { filter: { enabled: [{ name: "NodePorts" }, { name: "NodePorts" }] } },
      error: 'plugin "NodePorts" already registered as "FilterPlugin"',
    },
    {
      name: "a profile without a queue sort plugin",
      plugins: { queueSort: { disabled: [{ name: "*" }] } },
      error: 'only one queue sort plugin required for profile with scheduler name "a", but got 0',
    },
    {
      name: "a profile without a bind plugin",
      plugins: { bind: { disabled: [{ name: "*" }] } },
      error: 'at least one bind plugin is needed for profile with scheduler name "a"',
    },
  ];
  for (const { name, plugins, error } of rows) {
    test(name, async () => {
      const config = readConfig({ ...head, profiles: [{ schedulerName: "a", plugins }] });
      await assert.rejects(startScheduling({ config: config.scheduler }), {
        message: where + error,
      });
    });
  }
});
