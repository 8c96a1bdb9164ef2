import assert from "node:assert/strict";
import { test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { decidePreemption } from "./preemption.ts";

const pod = (name: string, cpu?: string, memory = "1Mi", priority = 0, limited = false): Pod => {
  const amounts = cpu === undefined ? undefined : { cpu, memory };
  const resources =
    amounts === undefined ? {} : { requests: amounts, ...(limited ? { limits: amounts } : {}) };
  const containers = [{ name: "main", image: "x", resources }];
  return { metadata: { name, uid: name }, spec: { containers, priority }, status: {} };
};
const critical = pod("critical", "500m", "1Mi", 2_000_000_000);

const rows: { name: string; others: Pod[]; missing: [string, number][]; want: string }[] = [
  {
    name: "the Burstable pod that comes nearest, and no Guaranteed one",
    others: [
      pod("small", "100m"),
      pod("fits", "300m"),
      pod("large", "900m"),
      pod("guaranteed", "300m", "1Mi", 0, true),
    ],
    missing: [["cpu", 300]],
    want: "fits",
  },
  {
    name: "a Guaranteed pod if all others together are not enough",
    others: [pod("small", "100m"), pod("guaranteed", "300m", "1Mi", 0, true)],
    missing: [["cpu", 300]],
    want: "guaranteed",
  },
  {
    name: "a BestEffort pod if only the number of pods is exceeded",
    others: [pod("burstable", "100m"), pod("best-effort")],
    missing: [["pods", 1]],
    want: "best-effort",
  },
  {
    name: "never a critical pod of the same priority",
    others: [pod("other-critical", "900m", "1Mi", 2_000_000_000)],
    missing: [["cpu", 300]],
    want: "no set of running pods found to reclaim resources: [(res: cpu, q: 300), ]",
  },
];

for (const { name, others, missing, want } of rows) {
  test(`preemption for a critical pod: ${name}`, () => {
    const decision = decidePreemption(critical, others, new Map(missing));
    const got = decision.ok
      ? decision.pods.map(({ metadata }) => metadata.name).join()
      : decision.message;
    assert.equal(got, want);
  });
}
