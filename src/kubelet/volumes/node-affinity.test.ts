import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { NodeSelectorTerm } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { completed } from "#testing/build.ts";
import { requireNodeAffinity } from "./node-affinity.ts";

const inZone = (...zones: readonly string[]): NodeSelectorTerm => ({
  matchExpressions: [{ key: "zone", operator: "In", values: [...zones] }],
});

const volume = (terms: readonly NodeSelectorTerm[], volumeMode = "Filesystem") =>
  completed(persistentVolumeKind, {
    metadata: { name: "disk" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      volumeMode,
      local: { path: "/disk" },
      nodeAffinity: { required: { nodeSelectorTerms: [...terms] } },
    },
  });

const node = (labels: Readonly<Record<string, string>>) =>
  completed(nodeKind, { metadata: { name: "n", labels } });

describe("nodeAffinity of a PersistentVolume before its mount", () => {
  const accepted = [
    { name: "one of several terms matches", terms: [inZone("b"), inZone("a")] },
    { name: "the Node is not known yet", terms: [inZone("b")], unknown: true },
  ];
  for (const { name, terms, unknown } of accepted) {
    test(`mounted: ${name}`, () => {
      requireNodeAffinity(volume(terms), unknown ? undefined : node({ zone: "a" }));
    });
  }

  test("mounted: a volume without nodeAffinity", () => {
    requireNodeAffinity(undefined, node({}));
  });

  const refused = [
    { name: "no term matches", terms: [inZone("b")], mode: "Filesystem", operation: "MountVolume" },
    { name: "a block volume", terms: [inZone("b")], mode: "Block", operation: "MapVolume" },
    { name: "an empty term", terms: [{}], mode: "Filesystem", operation: "MountVolume" },
  ];
  for (const { name, terms, mode, operation } of refused) {
    test(`refused: ${name}`, () => {
      assert.throws(() => requireNodeAffinity(volume(terms, mode), node({ zone: "a" })), {
        message: "no matching NodeSelectorTerms",
        operation: `${operation}.NodeAffinity check`,
      });
    });
  }
});
