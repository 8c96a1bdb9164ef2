import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build, type Draft } from "#testing/build.ts";
import { type SwapSettings, swapLimits } from "./swap.ts";

const MIB = 1024 ** 2;
const limited: SwapSettings = {
  ...{ behavior: "LimitedSwap", cgroupVersion: 2, hasController: true },
  ...{ memoryBytes: 1_000 * MIB, swapBytes: 500 * MIB },
};

function podOf(resources: Draft<Container["resources"]>, spec: Draft<Pod["spec"]> = {}): Pod {
  const containers = [{ name: "main", resources }];
  return build(podKind, { metadata: { name: "p" }, spec: { containers, ...spec } });
}

const burstable = { requests: { memory: "100Mi" }, limits: { memory: "200Mi" } };
const guaranteed = {
  requests: { memory: "100Mi", cpu: "1" },
  limits: { memory: "100Mi", cpu: "1" },
};

const rows: {
  name: string;
  resources: Container["resources"];
  spec?: object;
  settings?: Partial<SwapSettings>;
  limits: ReturnType<typeof swapLimits>;
}[] = [
  {
    name: "LimitedSwap: a Burstable container gets its share of the node's memory in swap",
    ...{ resources: burstable, limits: { swapMaxBytes: 50 * MIB } },
  },
  {
    name: "LimitedSwap: a request without a limit counts",
    ...{ resources: { requests: { memory: "100Mi" } }, limits: { swapMaxBytes: 50 * MIB } },
  },
  {
    name: "LimitedSwap: Guaranteed pods get none",
    resources: guaranteed,
    limits: { swapMaxBytes: 0 },
  },
  { name: "LimitedSwap: BestEffort pods get none", resources: {}, limits: { swapMaxBytes: 0 } },
  {
    name: "LimitedSwap: a container whose request is its limit gets none",
    resources: { requests: { memory: "100Mi" }, limits: { memory: "100Mi" } },
    limits: { swapMaxBytes: 0 },
  },
  {
    name: "LimitedSwap: critical pods get none",
    ...{ resources: burstable, spec: { priority: 2_000_000_000 }, limits: { swapMaxBytes: 0 } },
  },
  {
    name: "LimitedSwap: a request of more than the node has gets none",
    ...{ resources: { requests: { memory: "2000Mi" } }, limits: { swapMaxBytes: 0 } },
  },
  {
    name: "NoSwap is the default",
    ...{ resources: burstable, settings: { behavior: "" }, limits: { swapMaxBytes: 0 } },
  },
  {
    name: "cgroup v1: memory and swap together are limited to the memory limit",
    ...{ resources: burstable, settings: { cgroupVersion: 1, behavior: "NoSwap" } },
    limits: { memorySwapLimitBytes: 200 * MIB },
  },
  {
    name: "no swap controller: nothing is set",
    ...{ resources: burstable, settings: { hasController: false }, limits: {} },
  },
];

describe("swapLimits", () => {
  test.each(rows)("$name", ({ resources, spec, settings, limits }) => {
    const pod = podOf(resources, spec);
    const container = pod.spec.containers![0]!;
    const memory = resources?.limits?.memory === "200Mi" ? 200 * MIB : undefined;
    assert.deepEqual(swapLimits(pod, container, memory, { ...limited, ...settings }), limits);
  });
});
