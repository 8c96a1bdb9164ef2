import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod, Taint, Toleration } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText } from "#testing/decisions.ts";
import { type EvictionState, taintEviction } from "./taint-eviction.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");
const LOST: Taint = { key: "lost", effect: "NoExecute" };
const SICK: Taint = { key: "sick", effect: "NoExecute" };

function pod(tolerations: readonly Toleration[], isGoing = false): Pod {
  const deletionTimestamp = "2030-01-01T00:00:00Z";
  return build(podKind, {
    metadata: { name: "p", ...(isGoing ? { deletionTimestamp } : {}) },
    spec: { containers: [{ name: "c" }], nodeName: "n", tolerations },
  });
}

const tolerate = (key: string, seconds?: number): Toleration => ({
  key,
  operator: "Exists",
  ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
});

const EVICT: OutcomeText = {
  writes: ["patch Pod p/status", "delete Pod p"],
  events: ["Normal TaintManagerEviction: Marking for deletion Pod default/p"],
};
const NOTHING: OutcomeText = { writes: [] };
const CANCELLED: OutcomeText = {
  writes: [],
  events: ["Normal TaintManagerEviction: Cancelling deletion of Pod default/p"],
};
const soon = { uid: "uid-p", dueMs: NOW_MS + 5_000 };

const rows: { name: string; state: Partial<EvictionState>; want: OutcomeText }[] = [
  {
    name: "a pod on a node without taints is left alone",
    state: { pod: pod([]), taints: [] },
    want: NOTHING,
  },
  {
    name: "a pod that does not tolerate a taint is evicted",
    state: { pod: pod([]), taints: [LOST] },
    want: EVICT,
  },
  {
    name: "a pod that tolerates the taint without limit stays",
    state: { pod: pod([tolerate("lost")]), taints: [LOST] },
    want: NOTHING,
  },
  {
    name: "tolerated for a while",
    state: { pod: pod([tolerate("lost", 60)]), taints: [LOST] },
    want: { writes: [], recheckInMs: 60_000 },
  },
  {
    name: "the shortest while counts",
    state: { pod: pod([tolerate("lost", 60), tolerate("sick", 7)]), taints: [LOST, SICK] },
    want: { writes: [], recheckInMs: 7_000 },
  },
  {
    name: "a pod that tolerates one of two taints is evicted",
    state: { pod: pod([tolerate("lost", 60)]), taints: [LOST, SICK] },
    want: EVICT,
  },
  {
    name: "a running tolerationSeconds is not restarted",
    state: { pod: pod([tolerate("lost", 60)]), taints: [LOST], scheduled: soon },
    want: { writes: [], recheckInMs: 5_000 },
  },
  {
    name: "time is up",
    state: {
      pod: pod([tolerate("lost", 60)]),
      taints: [LOST],
      scheduled: { uid: "uid-p", dueMs: NOW_MS },
    },
    want: EVICT,
  },
  {
    name: "the node is well again",
    state: { pod: pod([tolerate("lost", 60)]), taints: [], scheduled: soon },
    want: CANCELLED,
  },
  { name: "the pod is gone", state: { pod: undefined, scheduled: soon }, want: CANCELLED },
  { name: "the pod is going", state: { pod: pod([], true), taints: [LOST] }, want: NOTHING },
];

describe("a pod on a node with taints", () => {
  for (const { name, state, want } of rows) {
    test(name, () => {
      const key = { namespace: "default", name: "p" };
      const whole = { key, pod: undefined, taints: undefined, scheduled: undefined, ...state };
      assert.deepEqual(describeOutcome(taintEviction.decide(whole, NOW_MS)), want);
    });
  }
});
