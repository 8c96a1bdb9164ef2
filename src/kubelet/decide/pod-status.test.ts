import assert from "node:assert/strict";
import { test } from "vitest";
import type { Container, Pod, PodSpec, PodStatus } from "#api/generated/core.v1.ts";
import { containerHash } from "./container-hash.ts";
import type { WaitingReason } from "./container-statuses.ts";
import type { ProbeOutcome } from "./pod-actions.ts";
import { type ContainerRun, NOTHING_RUNS, type PodRuntime, type RunState } from "./pod-runtime.ts";
import { decidePodStatus } from "./pod-status.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const main: Container = { name: "main", image: "busybox", resources: {} };
const init: Container = { name: "init", image: "busybox", resources: {} };
const ready = {
  sandboxes: [
    { id: "s", isReady: true, attempt: 0, createdMs: 0, usesHostNetwork: false, ips: ["10.0.0.1"] },
  ],
};

interface Row {
  readonly name: string;
  readonly spec?: Partial<PodSpec>;
  readonly runtime: PodRuntime;
  readonly waiting?: Readonly<Record<string, WaitingReason>>;
  readonly readiness?: ProbeOutcome;
  readonly previous?: PodStatus;
  readonly isTerminal?: boolean;
  readonly ended?: { reason: string; message: string };
  readonly want: {
    readonly phase: string;
    readonly ready?: "True" | "False";
    readonly initialized?: "True" | "False";
    readonly state?: object;
    readonly reason?: string;
  };
}

const crash = { reason: "CrashLoopBackOff", message: "back-off 10s" };
const rows: Row[] = [
  {
    name: "nothing runs yet: Pending, ContainerCreating",
    runtime: NOTHING_RUNS,
    want: { phase: "Pending", ready: "False", state: { waiting: { reason: "ContainerCreating" } } },
  },
  {
    name: "with init containers the regular ones wait for PodInitializing",
    spec: { initContainers: [init] },
    runtime: { ...ready, runs: [run(init, "running")] },
    want: {
      phase: "Pending",
      ready: "False",
      initialized: "False",
      state: { waiting: { reason: "PodInitializing" } },
    },
  },
  {
    name: "a running container without probes is ready",
    runtime: { ...ready, runs: [run(main, "running")] },
    want: { phase: "Running", ready: "True", initialized: "True" },
  },
  {
    name: "a readiness probe without success keeps the pod unready",
    spec: { containers: [{ ...main, readinessProbe: {} }] },
    runtime: { ...ready, runs: [run(main, "running")] },
    want: { phase: "Running", ready: "False" },
  },
  {
    name: "a readiness probe that succeeded makes it ready",
    spec: { containers: [{ ...main, readinessProbe: {} }] },
    readiness: "success",
    runtime: { ...ready, runs: [run(main, "running")] },
    want: { phase: "Running", ready: "True" },
  },
  {
    name: "a crashed container that will be restarted waits with its reason; the pod stays Running",
    waiting: { main: crash },
    runtime: { ...ready, runs: [run(main, "exited", 1)] },
    want: { phase: "Running", ready: "False", state: { waiting: crash } },
  },
  {
    name: "restartPolicy Never and exit code 0: Succeeded",
    spec: { restartPolicy: "Never" },
    runtime: { ...ready, runs: [run(main, "exited", 0)] },
    want: { phase: "Succeeded", ready: "False" },
  },
  {
    name: "restartPolicy Never and exit code 1: Failed",
    spec: { restartPolicy: "Never" },
    runtime: { ...ready, runs: [run(main, "exited", 1)] },
    want: { phase: "Failed", ready: "False" },
  },
  {
    name: "a pod that was ended with restartPolicy Always is Succeeded when all exit codes are 0",
    isTerminal: true,
    runtime: { sandboxes: [], runs: [run(main, "exited", 0)] },
    want: { phase: "Succeeded", ready: "False" },
  },
  {
    name: "an init container that failed for good fails the pod",
    spec: { initContainers: [init], restartPolicy: "Never" },
    runtime: { ...ready, runs: [run(init, "exited", 1)] },
    want: { phase: "Failed", ready: "False", initialized: "False" },
  },
  {
    name: "an evicted pod is Failed with the reason, although its container still runs",
    ended: { reason: "Evicted", message: "The node was low on resource: memory. " },
    runtime: { ...ready, runs: [run(main, "running")] },
    want: { phase: "Failed", ready: "False", reason: "Evicted" },
  },
  {
    name: "a final phase stays",
    previous: { phase: "Failed", reason: "Evicted" },
    runtime: { ...ready, runs: [run(main, "running")] },
    want: { phase: "Failed", ready: "False", reason: "Evicted" },
  },
];

for (const { name, spec = {}, runtime, waiting = {}, want, ...row } of rows) {
  test(`pod status: ${name}`, () => {
    const pod: Pod = {
      metadata: { name: "pod", namespace: "default", uid: "uid" },
      spec: { containers: [main], restartPolicy: "Always", ...spec },
      status: {},
    };
    const status = decidePodStatus({
      ...{ pod, runtime, runtimeName: "containerd", hostIps: ["192.168.0.1"], nowMs: NOW_MS },
      waiting: new Map(Object.entries(waiting)),
      readiness: () => row.readiness,
      startup: () => undefined,
      previous: row.previous ?? {},
      isTerminal: row.isTerminal ?? false,
      isStatic: false,
      ended: row.ended,
    });
    const conditionOf = (type: string): string | undefined =>
      status.conditions?.find((one) => one.type === type)?.status;
    assert.deepEqual(
      {
        phase: status.phase,
        ...(want.ready ? { ready: conditionOf("Ready") } : {}),
        ...(want.initialized ? { initialized: conditionOf("Initialized") } : {}),
        ...(want.state ? { state: status.containerStatuses?.[0]?.state } : {}),
        ...(want.reason ? { reason: status.reason } : {}),
      },
      want,
    );
    assert.equal(status.hostIP, "192.168.0.1");
  });
}

test("pod status: a condition keeps its lastTransitionTime until it changes", () => {
  const old = "2029-12-31T00:00:00Z";
  const pod: Pod = {
    metadata: { name: "pod", uid: "uid" },
    spec: { containers: [main] },
    status: {},
  };
  const { conditions = [] } = decidePodStatus({
    ...{ pod, runtimeName: "containerd", hostIps: [], nowMs: NOW_MS, waiting: new Map() },
    runtime: { ...ready, runs: [run(main, "running")] },
    readiness: () => undefined,
    startup: () => undefined,
    previous: {
      conditions: [
        { type: "PodScheduled", status: "True", lastTransitionTime: old },
        { type: "Ready", status: "False", lastTransitionTime: old },
      ],
    },
    ...{ isTerminal: false, isStatic: false, ended: undefined },
  });
  const timeOf = (type: string): unknown =>
    conditions.find((one) => one.type === type)?.lastTransitionTime;
  assert.deepEqual([timeOf("PodScheduled"), timeOf("Ready")], [old, "2030-01-01T00:00:00Z"]);
});

function run(of: Container, state: RunState, exitCode = 0): ContainerRun {
  return {
    ...{ id: `${of.name}-id`, sandboxId: "s", name: of.name, state, exitCode },
    ...{ createdMs: 1, startedMs: 2, finishedMs: state === "exited" ? 3 : 0 },
    ...{ reason: "", message: "", image: "busybox", imageId: "", restartCount: 0 },
    hash: containerHash(of),
  };
}
