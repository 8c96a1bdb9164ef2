import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Job, JobSpec, JobStatus } from "#api/generated/batch.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build, type Draft } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, partLike, written } from "#testing/decisions.ts";
import type { Setbacks } from "./back-off.ts";
import { jobController } from "./job.ts";

const NOW = "2030-01-01T01:00:00Z";
const STARTED = "2030-01-01T00:59:00Z";
const LABELS = { "controller-uid": "uid-work" };
const TRACKING = "batch.kubernetes.io/job-tracking";
const INDEX = "batch.kubernetes.io/job-completion-index";

function job(
  spec: Draft<JobSpec>,
  status: Draft<JobStatus> = {},
  metadata: Draft<Job["metadata"]> = {},
): Job {
  return build(jobKind, {
    metadata: { name: "work", ...metadata },
    spec: {
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { containers: [{ name: "c" }] } },
      ...spec,
    },
    status: {
      startTime: STARTED,
      ready: 0,
      terminating: 0,
      uncountedTerminatedPods: {},
      ...status,
    },
  });
}

interface Facts {
  readonly name: string;
  readonly phase?: string;
  readonly index?: number;
  readonly endedAt?: string;
  readonly isUntracked?: boolean;
  readonly isGoing?: boolean;
}

function pod({ name, phase = "Running", index, endedAt = NOW, ...facts }: Facts): Pod {
  const owner = { apiVersion: "batch/v1", kind: "Job", name: "work", uid: "uid-work" };
  const ended = { terminated: { exitCode: phase === "Failed" ? 1 : 0, finishedAt: endedAt } };
  return build(podKind, {
    metadata: {
      name,
      labels: LABELS,
      ownerReferences: [{ ...owner, controller: true }],
      ...(index === undefined ? {} : { annotations: { [INDEX]: String(index) } }),
      ...(facts.isUntracked === true ? {} : { finalizers: [TRACKING] }),
      ...(facts.isGoing === true ? { deletionTimestamp: NOW } : {}),
    },
    spec: { containers: [{ name: "c" }] },
    status: {
      phase,
      ...(phase === "Running" ? {} : { containerStatuses: [{ name: "c", state: ended }] }),
    },
  });
}

interface Row {
  readonly name: string;
  readonly job: Job;
  readonly pods?: readonly Facts[];
  readonly setbacks?: Setbacks;
  readonly want: OutcomeText;
  readonly status?: Draft<JobStatus>;
}

const STATUS = "update Job work/status";
const said = (type: string, reason: string, message = "") => ({
  type,
  status: "True" as const,
  reason,
  message,
});

const rows: readonly Row[] = [
  {
    name: "a new one starts its pods",
    job: job({ parallelism: 2, completions: 3 }),
    want: { writes: ["2 × create Pod work-", STATUS] },
    status: { active: 2 },
  },
  {
    name: "never more than are still needed",
    job: job({ parallelism: 5, completions: 3 }, { succeeded: 2 }),
    want: { writes: ["create Pod work-", STATUS] },
  },
  {
    name: "a Job with managedBy of another controller is left alone",
    job: job({ managedBy: "example.com/x" }),
    want: { writes: [] },
  },
  {
    name: "a Job with condition Complete needs nothing",
    job: job({}, { conditions: [said("Complete", "")] }),
    want: { writes: [] },
  },
  {
    name: "a suspended Job deletes its running pods and their finalizers",
    job: job({ suspend: true }),
    pods: [{ name: "a" }],
    want: { writes: ["patch Pod a", "delete Pod a", STATUS] },
    status: { active: 0, terminating: 1 },
  },
  {
    name: "a pod that ended is in uncountedTerminatedPods before its finalizer goes",
    job: job({}, { active: 1 }),
    pods: [{ name: "a", phase: "Succeeded" }],
    want: { writes: [STATUS, "patch Pod a"] },
    status: { uncountedTerminatedPods: { succeeded: ["uid-a"] } },
  },
  {
    name: "an uncounted pod without its finalizer is counted",
    job: job({ completions: 2 }, { active: 1, uncountedTerminatedPods: { succeeded: ["uid-a"] } }),
    pods: [{ name: "a", phase: "Succeeded", isUntracked: true }, { name: "b" }],
    want: { writes: [STATUS] },
    status: { succeeded: 1, uncountedTerminatedPods: {} },
  },
  {
    name: "a failed pod is not replaced before ten seconds have passed",
    job: job({}, { failed: 1 }),
    setbacks: {
      uid: "uid-work",
      failures: 1,
      lastFailureMs: Date.parse("2030-01-01T00:59:56Z"),
      seen: new Set(),
    },
    want: { writes: [], recheckInMs: 6_000 },
  },
  {
    name: "a failed pod is replaced when ten seconds have passed",
    job: job({}, { failed: 1 }),
    setbacks: {
      uid: "uid-work",
      failures: 1,
      lastFailureMs: Date.parse("2030-01-01T00:59:50Z"),
      seen: new Set(),
    },
    want: { writes: ["create Pod work-", STATUS] },
  },
  {
    name: "too many failures end it, and what runs with it",
    job: job({ backoffLimit: 0, parallelism: 2, completions: 2 }, { active: 2 }),
    pods: [{ name: "a", phase: "Failed" }, { name: "b" }],
    want: { writes: ["delete Pod b", STATUS, "patch Pod a", "patch Pod b"] },
    status: {
      conditions: [
        said(
          "FailureTarget",
          "BackoffLimitExceeded",
          "Job has reached the specified backoff limit",
        ),
      ],
    },
  },
  {
    name: "Failed is set when no pods are left",
    job: job(
      { backoffLimit: 0 },
      { failed: 1, conditions: [said("FailureTarget", "BackoffLimitExceeded", "too many")] },
    ),
    want: { writes: [STATUS] },
    status: { conditions: [{}, said("Failed", "BackoffLimitExceeded", "too many")] },
  },
  {
    name: "a Job at its activeDeadlineSeconds deletes its pods and fails",
    job: job({ activeDeadlineSeconds: 60 }, { active: 1 }),
    pods: [{ name: "a" }],
    want: { writes: ["delete Pod a", STATUS, "patch Pod a"] },
    status: {
      conditions: [
        said("FailureTarget", "DeadlineExceeded", "Job was active longer than specified deadline"),
      ],
    },
  },
  {
    name: "in time: look again when it is over",
    job: job({ activeDeadlineSeconds: 61 }, { active: 1 }),
    pods: [{ name: "a" }],
    want: { writes: [], recheckInMs: 1_000 },
  },
  {
    name: "indexes: the lowest that are missing",
    job: job(
      { completionMode: "Indexed", completions: 4, parallelism: 3 },
      { completedIndexes: "1", succeeded: 1, active: 1 },
    ),
    pods: [{ name: "a", index: 0 }],
    want: { writes: ["create Pod work-2-", "create Pod work-3-", STATUS] },
  },
  {
    name: "indexes: of two pods with the same one goes",
    job: job({ completionMode: "Indexed", completions: 2, parallelism: 2 }, { active: 2 }),
    pods: [
      { name: "a", index: 0 },
      { name: "b", index: 0 },
    ],
    want: { writes: ["patch Pod a", "delete Pod a", STATUS] },
  },
  {
    name: "indexes: of pods that are alike the lowest go",
    job: job({ completionMode: "Indexed", completions: 3, parallelism: 1 }, { active: 3 }),
    pods: [
      { name: "c", index: 2 },
      { name: "a", index: 0 },
      { name: "b", index: 1 },
    ],
    want: {
      writes: ["patch Pod a", "patch Pod b", "delete Pod a", "delete Pod b", STATUS],
    },
  },
  {
    name: "a Job that is being deleted makes nothing, but counts",
    job: job({}, { active: 1 }, { deletionTimestamp: NOW, finalizers: ["x"] }),
    pods: [{ name: "a", phase: "Failed" }],
    want: { writes: [STATUS, "patch Pod a"] },
    status: { uncountedTerminatedPods: { failed: ["uid-a"] } },
  },
];

describe("a Job decides", () => {
  for (const { name, job: of, pods = [], setbacks, want, status = {} } of rows) {
    test(name, () => {
      const state = { about: "job", job: of, pods: pods.map(pod), setbacks } as const;
      const outcome = jobController.decide(state, Date.parse(NOW));
      assert.deepEqual(describeOutcome(outcome), want);
      const next = written(outcome, jobKind)?.status;
      assert.deepEqual(partLike({ active: 0, ...next }, status), status);
    });
  }

  test("the tracking finalizer of a pod without a Job is removed", () => {
    const state = { about: "stray", pod: pod({ name: "a" }) } as const;
    assert.deepEqual(describeOutcome(jobController.decide(state, 0)), { writes: ["patch Pod a"] });
  });
});

test("a Job with an unknown completionMode is left alone, and an Event is recorded", () => {
  const outcome = jobController.decide(
    { about: "job", job: job({ completionMode: "Later" }), pods: [], setbacks: undefined },
    Date.parse(NOW),
  );
  assert.deepEqual(
    [outcome.writes, outcome.events?.map(({ reason }) => reason)],
    [undefined, ["UnknownCompletionMode"]],
  );
});
