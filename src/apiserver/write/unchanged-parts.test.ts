import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Draft, KubeObject } from "#api/kind.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import { reuseUnchangedParts, takenParts, withoutParts, withParts } from "./unchanged-parts.ts";

const old = deepFreeze({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "a" },
  spec: { nodeName: "n", containers: [{ name: "c" }] },
  status: { phase: "Pending" },
}) as KubeObject;

const rows = [
  { name: "new labels leave all parts", change: { metadata: { name: "a", labels: { l: "1" } } } },
  { name: "another status leaves the spec", change: { status: { phase: "Running" } } },
  { name: "a part that is gone", change: { status: undefined } },
  { name: "a part that is new", change: { extra: { x: 1 } } },
  { name: "order of members does not count", change: { spec: reversed() } },
];

describe("reuseUnchangedParts of an update", () => {
  for (const { name, change } of rows) {
    test(`${name}: the object put together again says the same`, () => {
      const draft = draftWith(change);
      const want = structuredClone(draft);
      reuseUnchangedParts(draft, old);
      assert.deepEqual(draft, want);
      const taken = takenParts(draft, old);
      const { kind, apiVersion, metadata, ...rest } = withoutParts(draft, taken);
      const parts = taken.size === 0 ? rest : withParts(rest, taken, old);
      const again = { kind, apiVersion, metadata, ...parts };
      assert.equal(JSON.stringify(again), JSON.stringify({ ...want, ...parts }));
      assert.deepEqual(JSON.parse(JSON.stringify(again)), JSON.parse(JSON.stringify(want)));
    });
  }

  test("unchanged parts are the old objects themselves, changed ones are not", () => {
    const draft = draftWith({ status: { phase: "Running" } });
    reuseUnchangedParts(draft, old);
    assert.deepEqual([...takenParts(draft, old)], ["spec"]);
    assert.equal((draft as { spec?: unknown }).spec, (old as { spec?: unknown }).spec);
  });
});

function draftWith(change: object): Draft<KubeObject> {
  return { ...structuredClone(old), ...change } as Draft<KubeObject>;
}

function reversed(): object {
  return { containers: [{ name: "c" }], nodeName: "n" };
}
