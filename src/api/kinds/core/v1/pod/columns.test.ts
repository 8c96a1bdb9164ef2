import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { podRowConditions } from "./columns.ts";

type Fields = Record<string, unknown>;

const NOW_MS = Date.parse("2030-01-01T01:00:00Z");

function row(spec: Fields, status: Fields, metadata: Fields = {}): unknown[] {
  const object = {
    metadata: { name: "p", creationTimestamp: "2030-01-01T00:00:00Z", ...metadata },
    spec: { containers: [{ name: "c" }], ...spec },
    status,
  };
  return podKind.columns.map((column) => column.cell(object, NOW_MS));
}

const container = (fields: Fields) => ({ name: "c", ready: false, restartCount: 0, ...fields });
const ended = (fields: Fields) => ({ state: { terminated: { exitCode: 0, ...fields } } });
const running = { state: { running: {} }, ready: true };

const cases: readonly {
  name: string;
  spec?: Fields;
  status: Fields;
  metadata?: Fields;
  want: { ready: string; status: string; restarts?: string };
}[] = [
  {
    name: "a new pod is Pending with 0/1 ready",
    status: { phase: "Pending" },
    want: { ready: "0/1", status: "Pending" },
  },
  {
    name: "a pod with scheduling gates is SchedulingGated",
    status: { phase: "Pending", conditions: [{ type: "PodScheduled", reason: "SchedulingGated" }] },
    want: { ready: "0/1", status: "SchedulingGated" },
  },
  {
    name: "a running pod shows its restarts and the last one's age",
    status: {
      phase: "Running",
      containerStatuses: [
        container({
          ...running,
          restartCount: 2,
          lastState: { terminated: { exitCode: 1, finishedAt: "2030-01-01T00:50:00Z" } },
        }),
      ],
    },
    want: { ready: "1/1", status: "Running", restarts: "2 (10m ago)" },
  },
  {
    name: "a waiting container shows its reason ImagePullBackOff",
    status: {
      phase: "Pending",
      containerStatuses: [container({ state: { waiting: { reason: "ImagePullBackOff" } } })],
    },
    want: { ready: "0/1", status: "ImagePullBackOff" },
  },
  {
    name: "ended with a code",
    status: { phase: "Failed", containerStatuses: [container(ended({ exitCode: 3 }))] },
    want: { ready: "0/1", status: "ExitCode:3" },
  },
  {
    name: "ended by a signal",
    status: { phase: "Failed", containerStatuses: [container(ended({ signal: 9, exitCode: 1 }))] },
    want: { ready: "0/1", status: "Signal:9" },
  },
  {
    name: "a pod with one completed and one running container stays Running",
    spec: { containers: [{ name: "c" }, { name: "d" }] },
    status: {
      phase: "Running",
      containerStatuses: [
        container(ended({ reason: "Completed" })),
        { ...container(running), name: "d" },
      ],
      conditions: [{ type: "Ready", status: "True" }],
    },
    want: { ready: "1/2", status: "Running" },
  },
  {
    name: "a pod whose init container waits shows Init:1/2",
    spec: { initContainers: [{ name: "a" }, { name: "b" }] },
    status: {
      phase: "Pending",
      initContainerStatuses: [
        { ...container(ended({})), name: "a", restartCount: 1 },
        { ...container({ state: { waiting: { reason: "PodInitializing" } } }), name: "b" },
      ],
    },
    want: { ready: "0/1", status: "Init:1/2", restarts: "1" },
  },
  {
    name: "a failed init container shows Init:ExitCode",
    spec: { initContainers: [{ name: "a" }] },
    status: {
      phase: "Failed",
      initContainerStatuses: [{ ...container(ended({ exitCode: 2 })), name: "a" }],
    },
    want: { ready: "0/1", status: "Init:ExitCode:2" },
  },
  {
    name: "a sidecar counts as a ready container",
    spec: { initContainers: [{ name: "s", restartPolicy: "Always" }] },
    status: {
      phase: "Running",
      initContainerStatuses: [{ ...container(running), name: "s", started: true, restartCount: 4 }],
      containerStatuses: [container(running)],
    },
    want: { ready: "2/2", status: "Running", restarts: "4" },
  },
  {
    name: "a deleted pod is Terminating",
    status: { phase: "Running" },
    metadata: { deletionTimestamp: "2030-01-01T00:59:00Z" },
    want: { ready: "0/1", status: "Terminating" },
  },
  {
    name: "a deleted pod with reason NodeLost is Unknown",
    status: { phase: "Running", reason: "NodeLost" },
    metadata: { deletionTimestamp: "2030-01-01T00:59:00Z" },
    want: { ready: "0/1", status: "Unknown" },
  },
];

describe("columns of pods", () => {
  for (const { name, spec = {}, status, metadata, want } of cases) {
    test(name, () => {
      const [, ready, reason, restarts] = row(spec, status, metadata);
      assert.deepEqual(
        { ready, reason, restarts },
        {
          ready: want.ready,
          reason: want.status,
          restarts: want.restarts ?? "0",
        },
      );
    });
  }

  test("wide columns show IP, node and readiness gates", () => {
    const cells = row(
      { nodeName: "n", readinessGates: [{ conditionType: "a" }, { conditionType: "b" }] },
      {
        podIPs: [{ ip: "10.0.0.1" }],
        conditions: [
          { type: "a", status: "True" },
          { type: "b", status: "False" },
        ],
      },
    );
    assert.deepEqual(cells.slice(4), ["60m", "10.0.0.1", "n", "<none>", "1/2"]);
  });

  test("pods that have ended are marked", () => {
    const conditions = (phase: string) =>
      podRowConditions({ metadata: {}, spec: { containers: [] }, status: { phase } });
    assert.deepEqual(conditions("Running"), []);
    assert.deepEqual(conditions("Failed"), [
      { type: "Completed", status: "True", reason: "Failed", message: "The pod failed." },
    ]);
  });
});
