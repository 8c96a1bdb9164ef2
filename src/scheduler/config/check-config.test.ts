import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { readConfig } from "./read-config.ts";

const head = { apiVersion: "kubescheduler.config.k8s.io/v1", kind: "KubeSchedulerConfiguration" };

describe("KubeSchedulerConfiguration is checked in upstream's words", () => {
  const version = '"kubescheduler.config.k8s.io/v1"';
  const removed = `was invalid in version ${version} (KubeSchedulerConfiguration is version ${version})`;
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
      config: { leaderElection: { retryPeriod: "0s", resourceLock: "endpoints" } },
      error:
        '[leaderElection.retryPeriod: Invalid value: "0s": must be greater than zero, leaderElection.resourceLock: Invalid value: "endpoints": resourceLock value must be "leases"]',
    },
    {
      name: "leaderElection: empty names",
      config: { leaderElection: { resourceName: "", resourceNamespace: "" } },
      error:
        "[leaderElection.resourceNamespace: Required value, leaderElection.resourceName: Required value]",
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
