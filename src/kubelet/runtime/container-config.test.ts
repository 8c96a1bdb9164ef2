import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { NAMESPACE_MODE } from "#kubelet/cri/common-messages.ts";
import { containerConfig } from "./container-config.ts";

const MEMORY_BYTES = 1024 ** 3;

test.each([
  ["has no quota with exclusive CPUs of the CPU manager", "1", true, { cpuQuota: 0 }],
  ["has its cpu limit as quota without them", undefined, false, { cpuQuota: 100_000 }],
])("container config: cpuQuota: a container %s", (_, cpus, hasOwnCpus, want) => {
  const { resources } = configOf({ cpus, mems: undefined, hasOwnCpus }).linux!;
  assert.deepEqual(
    { cpuQuota: resources?.cpuQuota, cpusetCpus: resources?.cpusetCpus },
    { ...want, cpusetCpus: cpus },
  );
});

function configOf(placement: Parameters<typeof containerConfig>[0]["placement"]) {
  const container = { name: "main", image: "app", resources: { limits: { cpu: "1" } } };
  const pod: Pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace: "default" } },
    ...{ spec: { containers: [container] }, status: {} },
  };
  return containerConfig({
    ...{ pod, container, restartCount: 0, targetId: undefined, placement },
    ...{ userNamespace: { mode: NAMESPACE_MODE.NODE }, imageRef: "app", imageUser: { uid: 0 } },
    ...{ env: new Map(), mounts: [], devices: [], annotations: {}, cdiDevices: [] },
    ...{ singleProcessOomKill: false, memoryCapacityBytes: MEMORY_BYTES, cgroupVersion: 1 },
    cfs: { isEnforced: true, periodUs: 100_000 },
    swap: {
      ...{ behavior: "", cgroupVersion: 1, hasController: false },
      ...{ memoryBytes: MEMORY_BYTES, swapBytes: 0 },
    },
    ...{ seccompRoot: "", seccompDefault: false },
  });
}
