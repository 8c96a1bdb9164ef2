import assert from "node:assert/strict";
import { test } from "vitest";
import type { Container, Pod, PodSpec } from "#api/generated/core.v1.ts";
import { containerHash } from "./container-hash.ts";
import { decidePodActions, type PodActions, type ProbeOutcome } from "./pod-actions.ts";
import { type ContainerRun, NOTHING_RUNS, type PodRuntime, type RunState } from "./pod-runtime.ts";

interface Row {
  readonly name: string;
  readonly spec: Partial<PodSpec>;
  readonly runtime: PodRuntime;
  readonly liveness?: Readonly<Record<string, ProbeOutcome>>;
  readonly startup?: Readonly<Record<string, ProbeOutcome>>;
  readonly want: Summary;
}

interface Summary {
  readonly killPod?: boolean;
  readonly sandbox?: number;
  readonly start?: readonly string[];
  readonly kill?: readonly string[];
}

const main = container("main");
const init1 = container("init-1");
const init2 = container("init-2");
const sidecar = container("sidecar", { restartPolicy: "Always" });
const ready = { sandboxes: [sandbox(true)] };

const rows: Row[] = [
  {
    name: "a new pod gets a sandbox and its regular containers",
    spec: { containers: [main, container("other")] },
    runtime: NOTHING_RUNS,
    want: { killPod: true, sandbox: 0, start: ["main", "other"] },
  },
  {
    name: "a new pod with init containers starts the first of them only",
    spec: { initContainers: [init1, init2], containers: [main] },
    runtime: NOTHING_RUNS,
    want: { killPod: true, sandbox: 0, start: ["init-1"] },
  },
  {
    name: "a finished init container lets the next one start",
    spec: { initContainers: [init1, init2], containers: [main] },
    runtime: { ...ready, runs: [run(init1, "exited", 0)] },
    want: { start: ["init-2"] },
  },
  {
    name: "a failed init container is started again with restartPolicy Always",
    spec: { initContainers: [init1], containers: [main] },
    runtime: { ...ready, runs: [run(init1, "exited", 1)] },
    want: { start: ["init-1"] },
  },
  {
    name: "a failed init container ends a pod with restartPolicy Never",
    spec: { initContainers: [init1], containers: [main], restartPolicy: "Never" },
    runtime: { ...ready, runs: [run(init1, "exited", 1)] },
    want: { killPod: true },
  },
  {
    name: "a running sidecar lets the regular containers start",
    spec: { initContainers: [sidecar], containers: [main] },
    runtime: { ...ready, runs: [run(sidecar, "running")] },
    want: { start: ["main"] },
  },
  {
    name: "a sidecar whose startup probe has no result yet holds the others back",
    spec: { initContainers: [{ ...sidecar, startupProbe: {} }], containers: [main] },
    runtime: { ...ready, runs: [run(sidecar, "running")] },
    want: {},
  },
  {
    name: "a sidecar that ended is started again while regular containers run",
    spec: { initContainers: [sidecar], containers: [main] },
    runtime: { ...ready, runs: [run(main, "running"), run(sidecar, "exited", 1)] },
    want: { start: ["sidecar"] },
  },
  {
    name: "a container that ended with 0 stays down with OnFailure, and the pod is over",
    spec: { containers: [main], restartPolicy: "OnFailure" },
    runtime: { ...ready, runs: [run(main, "exited", 0)] },
    want: { killPod: true },
  },
  {
    name: "a container that failed is started again with OnFailure",
    spec: { containers: [main], restartPolicy: "OnFailure" },
    runtime: { ...ready, runs: [run(main, "exited", 3)] },
    want: { start: ["main"] },
  },
  {
    name: "restartPolicyRules restart a container on the exit codes that they name",
    spec: {
      containers: [
        {
          ...main,
          restartPolicy: "Never",
          restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }],
        },
      ],
      restartPolicy: "Never",
    },
    runtime: { ...ready, runs: [run(main, "exited", 42)] },
    want: { start: ["main"] },
  },
  {
    name: "a failed liveness probe kills and restarts the container",
    spec: { containers: [main] },
    runtime: { ...ready, runs: [run(main, "running")] },
    liveness: { "main-id": "failure" },
    want: {
      start: ["main"],
      kill: ["main: Container main failed liveness probe, will be restarted"],
    },
  },
  {
    name: "a failed startup probe kills for good with restartPolicy Never",
    spec: { containers: [main], restartPolicy: "Never" },
    runtime: { ...ready, runs: [run(main, "running")] },
    startup: { "main-id": "failure" },
    want: { killPod: true, kill: ["main: Container main failed startup probe"] },
  },
  {
    name: "a changed image replaces the container",
    spec: { containers: [{ ...main, image: "new" }] },
    runtime: { ...ready, runs: [run(main, "running")] },
    want: { start: ["main"], kill: ["main: Container main definition changed, will be restarted"] },
  },
  {
    name: "a sandbox that is not ready is replaced with everything in it",
    spec: { containers: [main] },
    runtime: { sandboxes: [sandbox(false)], runs: [run(main, "exited", 137)] },
    want: { killPod: true, sandbox: 1, start: ["main"] },
  },
  {
    name: "a lost sandbox ends a pod with restartPolicy Never",
    spec: { containers: [main], restartPolicy: "Never" },
    runtime: { sandboxes: [sandbox(false)], runs: [run(main, "exited", 137)] },
    want: { killPod: true },
  },
  {
    name: "an ephemeral container is started once",
    spec: { containers: [main], ephemeralContainers: [container("debug")] },
    runtime: { ...ready, runs: [run(main, "running")] },
    want: { start: ["debug"] },
  },
  {
    name: "an ephemeral container that ended is not started again",
    spec: { containers: [main], ephemeralContainers: [container("debug")] },
    runtime: { ...ready, runs: [run(main, "running"), run(container("debug"), "exited", 1)] },
    want: {},
  },
];

for (const { name, spec, runtime, liveness = {}, startup = {}, want } of rows) {
  test(`pod actions: ${name}`, () => {
    const actions = decidePodActions(podOf(spec), runtime, {
      liveness: (id) => liveness[id],
      startup: (id) => startup[id],
    });
    assert.deepEqual(summaryOf(actions), want);
  });
}

function summaryOf({ killPod, createSandbox, start, kill }: PodActions): Summary {
  return {
    ...(killPod ? { killPod } : {}),
    ...(createSandbox === undefined ? {} : { sandbox: createSandbox }),
    ...(start.length > 0 ? { start: start.map((one) => one.container.name) } : {}),
    ...(kill.length > 0 ? { kill: kill.map((one) => `${one.run.name}: ${one.message}`) } : {}),
  };
}

function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image: "busybox", resources: {}, ...more };
}

function podOf(spec: Partial<PodSpec>): Pod {
  const metadata = { name: "pod", namespace: "default", uid: "uid" };
  return { metadata, spec: { containers: [], restartPolicy: "Always", ...spec }, status: {} };
}

function sandbox(isReady: boolean): PodRuntime["sandboxes"][number] {
  return { id: "s", isReady, attempt: 0, createdMs: 0, usesHostNetwork: false, ips: ["10.0.0.1"] };
}

function run(of: Container, state: RunState, exitCode = 0): ContainerRun {
  return {
    ...{ id: `${of.name}-id`, sandboxId: "s", name: of.name, state, exitCode },
    ...{ createdMs: 1, startedMs: 2, finishedMs: state === "exited" ? 3 : 0 },
    ...{ reason: "", message: "", image: "busybox", imageId: "", restartCount: 0 },
    hash: containerHash(of),
  };
}
