import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ReplicaSet } from "#api/generated/apps.v1.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { build } from "#testing/build.ts";
import { lastRevision, nextRevision } from "./revisions.ts";

function set(revision: string | undefined): ReplicaSet {
  const annotations =
    revision === undefined ? {} : { "deployment.kubernetes.io/revision": revision };
  return build(replicaSetKind, { metadata: { name: "web", annotations } });
}

describe("revisions of a deployment", () => {
  const rows: readonly {
    readonly name: string;
    readonly has: readonly (string | undefined)[];
    readonly next: bigint;
    readonly last: bigint;
  }[] = [
    { name: "the first revision is 1", has: [], next: 1n, last: 0n },
    { name: "the next revision is one more than the only one", has: ["4"], next: 5n, last: 0n },
    { name: "the highest counts, in any order", has: ["10", "9", "2"], next: 11n, last: 9n },
    {
      name: "more digits than a double holds",
      has: ["3546343826724305832", "3546343826724305831"],
      next: 3546343826724305833n,
      last: 3546343826724305831n,
    },
    { name: "a word is no revision", has: ["one", undefined, "-3", "2"], next: 3n, last: 0n },
    {
      name: "a number that 64 bits cannot hold is no revision",
      has: ["9223372036854775808"],
      next: 1n,
      last: 0n,
    },
  ];
  for (const { name, has, next, last } of rows) {
    test(name, () => {
      const sets = has.map(set);
      assert.deepEqual([nextRevision(sets), lastRevision(sets)], [next, last]);
    });
  }
});
