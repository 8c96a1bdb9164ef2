import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Decided } from "./decision-record.ts";
import { DecisionLog, recordOf } from "./decision-record.ts";
import { create, patch } from "./writes.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function mapNamed(name: string, resourceVersion: string, data = "") {
  const metadata = { namespace: "default", name, uid: name, resourceVersion };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { text: data } } as const;
}

function decision(name: string, data = ""): Decided {
  const map = mapNamed(name, "7", data);
  const others = Array.from({ length: 20 }, (_, i) => mapNamed(`${name}-${i}`, `${i + 8}`, data));
  const status = {
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    reason: "Conflict",
    message: "changed",
  } as const;
  const write = patch(configMapKind, map, "merge", { data: { text: "b" } });
  return {
    atMs: 1_000,
    controller: "copier",
    key: { namespace: "default", name },
    state: { map, others, wanted: 3 },
    outcome: {
      because: "the text is another",
      writes: [write, others.map((other) => create(configMapKind, other))],
      events: [{ about: map, type: "Normal", reason: "Copied", message: data }],
    },
    done: 1,
    refused: { write, status },
  };
}

test("decision record: names the observed revisions, the rule, the writes and what was refused", () => {
  const record = recordOf(decision("a"));
  const observed = record.observed.map(
    ({ kind, namespace, name, resourceVersion }) =>
      `${kind} ${namespace}/${name}@${resourceVersion}`,
  );
  assert.equal(observed[0], "ConfigMap default/a@7");
  assert.equal(observed[1], "ConfigMap default/a-0@8");
  assert.equal(observed.length, 6);
  assert.equal(record.because, "the text is another");
  assert.deepEqual(record.writes.slice(0, 2), [
    { op: "patch", resource: "configmaps", namespace: "default", name: "a" },
    { op: "create", resource: "configmaps", namespace: "default", name: "a-0" },
  ]);
  assert.deepEqual([record.intended, record.done, record.writes.length], [21, 1, 4]);
  assert.deepEqual(record.events, ["Copied"]);
  assert.equal(record.refused?.why, "Conflict: changed");
});

test("decision record: is plain data, without functions", () => {
  const record = recordOf({ ...decision("a"), error: new Error("x".repeat(10_000)) });
  const plain = JSON.parse(JSON.stringify(record));
  assert.deepEqual({ ...plain }, { ...record });
  assert.ok((record.error ?? "").length < 600);
});

test("decision record: an object that is a state itself is the observed one; nothing is none", () => {
  const about = (state: unknown) => recordOf({ ...decision("a"), state }).observed.length;
  assert.equal(about(mapNamed("a", "7")), 1);
  assert.equal(about(undefined), 0);
  assert.equal(about(new Map([["a", mapNamed("a", "7")]])), 1);
  assert.equal(about({ kind: podKind }), 0);
});

test("decision log: 2,000 records take less than 4 MB and hold no observed object", async () => {
  const log = new DecisionLog();
  const big = "x".repeat(2_000);
  const fill = (): WeakRef<object> => {
    let last: Decided | undefined;
    for (let n = 0; n < 3_000; n++) {
      last = decision(`object-${n}`, `${big}${n}`);
      log.add(recordOf(last));
    }
    return new WeakRef(last!.state as object);
  };
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const state = fill();
  await new Promise((resolve) => setImmediate(resolve)); // a WeakRef holds on for a turn
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed - before;
  assert.equal(log.about().length, 2_000);
  assert.ok(bytes < 4_000_000, `${bytes} bytes`);
  assert.equal(state.deref(), undefined);
});
