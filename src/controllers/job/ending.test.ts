import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Job, JobSpec, JobStatus } from "#api/generated/batch.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeToMs } from "#api/meta/time.ts";
import { completed } from "#testing/build.ts";
import { backOffLeftMs, setbacksNow } from "./back-off.ts";
import { endingOf } from "./ending.ts";
import { tallyOf } from "./tally.ts";

const AT = "2030-01-01T01:00:00Z";
const INDEX = "batch.kubernetes.io/job-completion-index";
const EARLIER = "batch.kubernetes.io/job-index-failure-count";

let uids = 0;

interface PodFacts {
  readonly phase?: string;
  readonly index?: number;
  readonly exitCode?: number;
  readonly endedAt?: string;
  readonly earlierFailures?: number;
  readonly isCounted?: boolean;
}

function pod(facts: PodFacts): Pod {
  const { phase = "Failed", index, exitCode = 1, endedAt = AT, earlierFailures } = facts;
  const name = `p${++uids}`;
  return completed(podKind, {
    metadata: {
      name,
      namespace: "default",
      uid: name,
      ...(facts.isCounted ? {} : { finalizers: ["batch.kubernetes.io/job-tracking"] }),
      annotations: {
        ...(index === undefined ? {} : { [INDEX]: String(index) }),
        ...(earlierFailures === undefined ? {} : { [EARLIER]: String(earlierFailures) }),
      },
    },
    status: {
      phase,
      containerStatuses: [
        { name: "c", state: { terminated: { exitCode, finishedAt: endedAt } }, restartCount: 0 },
      ],
    },
  });
}

function job(spec: Partial<JobSpec>, status: JobStatus = {}): Job {
  return completed(jobKind, {
    metadata: { name: "work", uid: "w" },
    spec: { backoffLimit: 1, completions: 3, ...spec },
    status: { startTime: "2030-01-01T00:00:00Z", ...status },
  });
}

const indexed: Partial<JobSpec> = { completionMode: "Indexed" };

const rows: readonly {
  readonly name: string;
  readonly spec?: Partial<JobSpec>;
  readonly status?: JobStatus;
  readonly pods?: readonly PodFacts[];
  readonly want: string | undefined;
}[] = [
  { name: "a Job without pods goes on", want: undefined },
  { name: "as many failures as backoffLimit go on", pods: [{}], want: undefined },
  {
    name: "one failure above backoffLimit is BackoffLimitExceeded",
    pods: [{}, {}],
    want: "BackoffLimitExceeded",
  },
  {
    name: "failures of status.failed count for backoffLimit",
    status: { failed: 1 },
    pods: [{}],
    want: "BackoffLimitExceeded",
  },
  {
    name: "a pod that lost its finalizer is counted already",
    status: { failed: 1 },
    pods: [{ isCounted: true }],
    want: undefined,
  },
  {
    name: "a Job at its activeDeadlineSeconds is DeadlineExceeded",
    spec: { activeDeadlineSeconds: 3600 },
    want: "DeadlineExceeded",
  },
  {
    name: "a Job before its activeDeadlineSeconds goes on",
    spec: { activeDeadlineSeconds: 3601 },
    want: undefined,
  },
  {
    name: "activeDeadlineSeconds does not run while the Job is suspended",
    spec: { activeDeadlineSeconds: 1, suspend: true },
    want: undefined,
  },
  {
    name: "an end announced before stays, whatever came later",
    status: {
      conditions: [{ type: "SuccessCriteriaMet", status: "True", reason: "SuccessPolicy" }],
    },
    pods: [{}, {}],
    want: "SuccessPolicy",
  },
  {
    name: "failure comes before success",
    spec: { ...indexed, successPolicy: { rules: [{ succeededCount: 1 }] } },
    pods: [{ phase: "Succeeded", index: 0 }, { index: 1 }, { index: 2 }],
    want: "BackoffLimitExceeded",
  },
  {
    name: "a success policy by count",
    spec: { ...indexed, successPolicy: { rules: [{ succeededCount: 2 }] } },
    status: { completedIndexes: "2" },
    pods: [{ phase: "Succeeded", index: 0 }],
    want: "SuccessPolicy",
  },
  {
    name: "a success policy by indexes that are not all there",
    spec: { ...indexed, successPolicy: { rules: [{ succeededIndexes: "0-1" }] } },
    pods: [{ phase: "Succeeded", index: 0 }],
    want: undefined,
  },
  {
    name: "an exit code that fails the job",
    spec: {
      podFailurePolicy: {
        rules: [{ action: "FailJob", onExitCodes: { operator: "NotIn", values: [1, 2] } }],
      },
    },
    pods: [{ exitCode: 3 }],
    want: "PodFailurePolicy",
  },
  {
    name: "an exit code that is ignored",
    spec: {
      backoffLimit: 0,
      podFailurePolicy: {
        rules: [{ action: "Ignore", onExitCodes: { operator: "In", values: [3] } }],
      },
    },
    pods: [{ exitCode: 3 }],
    want: undefined,
  },
  {
    name: "an index that may still try again",
    spec: { ...indexed, backoffLimit: 99, backoffLimitPerIndex: 1, maxFailedIndexes: 0 },
    pods: [{ index: 0, earlierFailures: 0 }],
    want: undefined,
  },
  {
    name: "more failed indexes than allowed",
    spec: { ...indexed, backoffLimit: 99, backoffLimitPerIndex: 1, maxFailedIndexes: 0 },
    pods: [{ index: 0, earlierFailures: 1 }],
    want: "MaxFailedIndexesExceeded",
  },
  {
    name: "every index has its result and one of them failed",
    spec: { ...indexed, backoffLimit: 99, backoffLimitPerIndex: 0 },
    status: { completedIndexes: "0,1" },
    pods: [{ index: 2 }],
    want: "FailedIndexes",
  },
];

describe("endingOf a Job", () => {
  for (const { name, spec = {}, status, pods = [], want } of rows) {
    test(name, () => {
      const tally = tallyOf(job(spec, status), pods.map(pod));
      assert.equal(endingOf(tally, timeToMs(AT))?.reason, want);
    });
  }
});

const pauses: readonly [
  name: string,
  successes: readonly string[],
  failures: readonly string[],
  leftSeconds: number,
][] = [
  ["no failure, no pause", [], [], 0],
  ["ten seconds after the first", [], ["00:59:55"], 5],
  ["twice as long after the second", [], ["00:59:00", "00:59:55"], 15],
  ["ten minutes at most", [], Array.from({ length: 12 }, (_, i) => `00:50:${10 + i}`), 21],
  ["the pause is over after its time", [], ["00:00:00"], 0],
  ["a success starts afresh", ["00:59:50"], ["00:58:00", "00:59:55"], 5],
  ["a success after it ends it", ["00:59:58"], ["00:59:55"], 0],
];

describe("endingOf: the pause after failures", () => {
  for (const [name, successes, failures, leftSeconds] of pauses) {
    test(name, () => {
      const at = (time: string): Pod => pod({ endedAt: `2030-01-01T${time}Z` });
      const setbacks = setbacksNow(undefined, "job", successes.map(at), failures.map(at));
      assert.equal(backOffLeftMs(setbacks, timeToMs(AT)) / 1000, leftSeconds);
    });
  }

  test("pods that vanish stay counted; one seen twice counts once; another Job starts afresh", () => {
    const failed = pod({ endedAt: AT });
    const first = setbacksNow(undefined, "job", [], [failed]);
    const again = setbacksNow(first, "job", [], [failed]);
    const gone = setbacksNow(again, "job", [], []);
    const second = setbacksNow(gone, "job", [], [pod({ endedAt: AT })]);
    const other = setbacksNow(second, "other", [], []);
    assert.deepEqual(
      [first, again, gone, second, other].map(({ failures }) => failures),
      [1, 1, 1, 2, 0],
    );
  });
});
