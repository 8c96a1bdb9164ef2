/** The checker finds every kind of violation that a fault could cause. */
import assert from "node:assert/strict";
import { test } from "vitest";
import { checkHistory } from "./check-history.ts";
import { actsOf, checkLeaders } from "./check-leaders.ts";
import type { FinalList, HistoryRecord, Operation, WatchBegin, WatchEvent } from "./history.ts";
import { outageBetween } from "./outage.ts";

const good: HistoryRecord[] = [
  begin("w1", 0),
  op("create", 0, 1, { revision: 5, value: "a" }),
  event("w1", "ADDED", 5, "a"),
  op("read", 2, 3, { revision: 5, value: "a" }),
  op("update", 4, 5, { revision: 7, value: "b", from: 5 }),
  op("update", 4, 6, { outcome: "refused", code: 409, value: "c", from: 5 }),
  op("update", 6, 9, { outcome: "unknown", code: 0, value: "d", from: 7 }),
  event("w1", "MODIFIED", 7, "b"),
  event("w1", "MODIFIED", 8, "d"),
  final("a1", 8, "d"),
];

const cases: { name: string; history: HistoryRecord[]; found: string[] }[] = [
  { name: "nothing wrong", history: good, found: [] },
  {
    name: "stale read",
    history: [...good, op("read", 10, 11, { revision: 5, value: "a" })],
    found: ["r: a read through a1 gave revision 5 after 7 was known"],
  },
  {
    name: "write with a revision of the past",
    history: [...good, op("create", 10, 11, { revision: 6, value: "x" })],
    found: [
      "r: a create through a1 gave revision 6 after 7 was known",
      "r: 7 was to replace 5 and replaced 6",
      "w1 missed revision 6",
    ],
  },
  {
    name: "two updates of one revision",
    history: [...good, op("update", 4, 11, { revision: 9, value: "z", from: 7 })],
    found: [
      "r: 9 was to replace 7 and replaced 8",
      "r: a1 has 8 at the end, 9 was known",
      "w1 missed revision 9",
    ],
  },
  {
    name: "two values of one revision",
    history: [...good, event("w2", "MODIFIED", 8, "other")],
    found: ["r at 8 is d, and other in watch w2", "w2 missed revision 5", "w2 missed revision 7"],
  },
  {
    name: "refused write that took effect",
    history: [...good.slice(0, -1), event("w1", "MODIFIED", 9, "c"), final("a1", 9, "c")],
    found: ["r: c was refused with 409 and was written"],
  },
  {
    name: "acknowledged write that is lost",
    history: [...good.slice(0, -1), { k: "final", server: "a2", items: [] }],
    found: ["r: a2 has nothing at the end, 8 was known"],
  },
  {
    name: "watch that misses an event",
    history: good.filter((one) => !(one.k === "event" && one.revision === 7)),
    found: ["w1 missed revision 7"],
  },
  {
    name: "watch that repeats an event",
    history: [...good, event("w1", "MODIFIED", 8, "d")],
    found: ["w1: r at 8 came after 8"],
  },
  {
    name: "watch that lists again: what lies between is no miss, a wrong list is",
    history: [...good, begin("w2", 7, [["r", 5, "a"]]), event("w2", "MODIFIED", 8, "d")],
    found: ["w2: the list at 7 has r at 5, not 7"],
  },
  {
    name: "deleted object that is back",
    history: [...good, op("delete", 12, 13, {})],
    found: ["r is back on a1"],
  },
];

test.each(cases)("checkHistory: $name", ({ history, found }) => {
  assert.deepEqual(checkHistory(history), found);
});

test("checkLeaders: a write at a revision at which another machine held the lease is found", () => {
  const name = "kube-controller-manager";
  const leases = [
    { k: "lease", name, holder: "c1_x", revision: 10 },
    { k: "lease", name, holder: "c2_y", revision: 20 },
  ] as const;
  const line = (machine: string, resourceVersion: string, subresource = ""): string =>
    JSON.stringify({
      verb: "create",
      sourceIPs: [machine],
      objectRef: { resource: "pods", namespace: "default", name: "p", subresource },
      responseStatus: { code: 201 },
      responseObject: { metadata: { resourceVersion } },
    });
  const log = [
    ...[line("1.1.1.2", "5"), line("1.1.1.1", "15"), line("1.1.1.2", "25")],
    line("1.1.1.1", "30"),
    ...[line("1.1.1.1", "", "binding"), "{cut"],
  ];
  const bound = [{ k: "bound", pod: "p", revision: 26 }] as const;
  const elected = new Map([
    ["1.1.1.1", { machine: "c1", lease: name }],
    ["1.1.1.2", { machine: "c2", lease: name }],
  ]);
  assert.deepEqual(checkLeaders(leases, actsOf(log.join("\n"), elected, bound)), [
    "c1 wrote create pods/ default/p at 30, when c2_y held kube-controller-manager",
    "c1 wrote create pods/binding default/p at 26, when c2_y held kube-controller-manager",
  ]);
});

test("outageBetween: the longest wait of one writer, and of all together", () => {
  const writes = [1, 2, 9, 10].map((endMs, at) => ({
    ...(op("create", 0, endMs, { revision: at + 1 }) as Operation),
    client: at % 2 === 0 ? "a" : "b",
  }));
  assert.deepEqual(outageBetween(writes, 1, 10), { oneClientMs: 8, allClientsMs: 7 });
});

function op(
  verb: Operation["verb"],
  startMs: number,
  endMs: number,
  more: Partial<Operation>,
): Operation {
  return {
    ...{ k: "op", client: "c", object: "r", verb, startMs, endMs, outcome: "ok" },
    ...{ server: "a1", code: 200, ...more },
  };
}

function begin(watcher: string, revision: number, items: WatchBegin["items"] = []): WatchBegin {
  return { k: "begin", watcher, revision, items, atMs: 0 };
}

function event(
  watcher: string,
  type: WatchEvent["type"],
  revision: number,
  value: string,
): WatchEvent {
  return { k: "event", watcher, type, object: "r", revision, value, atMs: 0 };
}

function final(server: string, revision: number, value: string): FinalList {
  return { k: "final", server, items: [["r", revision, value]] };
}
