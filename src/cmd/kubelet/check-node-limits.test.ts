import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { DEFAULT_KUBELET_CONFIG, type KubeletConfig } from "#kubelet/kubelet-config.ts";
import { checkNodeLimits } from "./check-node-limits.ts";

const rows: { name: string; config: Partial<KubeletConfig>; problems: string[] }[] = [
  { name: "the defaults of KubeletConfiguration have no problems", config: {}, problems: [] },
  {
    name: "swapBehavior",
    config: { swapBehavior: "UnlimitedSwap" },
    problems: [
      'memorySwap.swapBehavior "UnlimitedSwap" must be one of: "", "LimitedSwap" or "NoSwap"',
    ],
  },
  {
    name: "cpuCFSQuotaPeriod",
    config: { cpuCfsQuotaPeriodMs: 2_000 },
    problems: [
      "cpuCFSQuotaPeriod (--cpu-cfs-quota-period) {2s} must be between 1ms and 1sec, inclusive",
    ],
  },
  {
    name: "oomScoreAdj, podsPerCore, nodeStatusMaxImages and healthzPort out of range",
    config: { oomScoreAdj: 1001, podsPerCore: -1, nodeStatusMaxImages: -2, healthzPort: 70_000 },
    problems: [
      "healthzPort (--healthz-port) 70000 must be between 1 and 65535, inclusive",
      "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater",
      "oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive",
      "podsPerCore (--pods-per-core) -1 must not be a negative number",
    ],
  },
  {
    name: "enforceNodeAllocatable: unknown, twice, and none beside others",
    config: { enforceNodeAllocatable: ["pods", "pods", "all", "none"] },
    problems: [
      'duplicated enforcements "pods" in enforceNodeAllocatable (--enforce-node-allocatable)',
      'option "all" specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are "pods", "system-reserved", "kube-reserved", "system-reserved-compressible", "kube-reserved-compressible" or "none"',
      'enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified',
    ],
  },
  {
    name: "enforceNodeAllocatable: system-reserved without its cgroup",
    config: { enforceNodeAllocatable: ["system-reserved"] },
    problems: [
      'systemReservedCgroup (--system-reserved-cgroup) must be specified when "system-reserved" or "system-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)',
    ],
  },
  {
    name: "enableSystemLogQuery without enableSystemLogHandler",
    config: { enableSystemLogQuery: true, enableSystemLogHandler: false },
    problems: ["enableSystemLogHandler is required for enableSystemLogQuery"],
  },
];

describe("checkNodeLimits", () => {
  test.each(rows)("$name", ({ config, problems }) => {
    const all = { ...DEFAULT_KUBELET_CONFIG, nodeName: "n", ...config };
    assert.deepEqual(checkNodeLimits(all), problems);
  });
});
