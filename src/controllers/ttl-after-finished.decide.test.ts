import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Job } from "#api/generated/batch.v1.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText } from "#testing/decisions.ts";
import { ttlAfterFinished } from "./ttl-after-finished.ts";

const ENDED = "2030-01-01T00:00:00Z";
const NOTHING: OutcomeText = { writes: [] };

function job(ttl: number | undefined, type: string, status = "True", going = false): Job {
  return build(jobKind, {
    metadata: { name: "j", ...(going ? { deletionTimestamp: ENDED } : {}) },
    spec: { ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }) },
    status: {
      conditions: [{ type, status: status as "True", lastTransitionTime: ENDED }],
    },
  });
}

const rows: { name: string; job: Job | undefined; afterMs: number; want: OutcomeText }[] = [
  { name: "a Job that is gone needs nothing", job: undefined, afterMs: 0, want: NOTHING },
  {
    name: "a Job without ttlSecondsAfterFinished is kept",
    job: job(undefined, "Complete"),
    afterMs: 1e12,
    want: NOTHING,
  },
  {
    name: "a Job that has not finished is kept",
    job: job(5, "Suspended"),
    afterMs: 1e12,
    want: NOTHING,
  },
  {
    name: "a Job whose condition Complete is False is kept",
    job: job(5, "Complete", "False"),
    afterMs: 1e12,
    want: NOTHING,
  },
  {
    name: "a Job that is being deleted is left alone",
    job: job(5, "Failed", "True", true),
    afterMs: 1e12,
    want: NOTHING,
  },
  {
    name: "a Job is looked at again when its TTL ends",
    job: job(5, "Complete"),
    afterMs: 4_999,
    want: { writes: [], recheckInMs: 1 },
  },
  {
    name: "a Job is deleted when its TTL has passed",
    job: job(5, "Complete"),
    afterMs: 5_000,
    want: { writes: ["delete Job j"] },
  },
  {
    name: "a TTL of 0 deletes the Job at once",
    job: job(0, "Failed"),
    afterMs: 0,
    want: { writes: ["delete Job j"] },
  },
];

describe("ttlAfterFinished of a Job", () => {
  for (const { name, job: of, afterMs, want } of rows) {
    test(name, () => {
      const outcome = ttlAfterFinished.decide(of, Date.parse(ENDED) + afterMs);
      assert.deepEqual(describeOutcome(outcome), want);
      // Each of them only if the Job is still what was decided on.
      const terms = (outcome.writes ?? [])
        .flat()
        .map((write) => write.op === "delete" && [write.propagation, write.resourceVersion]);
      assert.deepEqual(
        terms,
        want.writes.map(() => ["Foreground", "1"]),
      );
    });
  }
});
