import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { labelsOfExistingNode, type NodeIdentity } from "./node-status.ts";

const identityWith = (labels: Readonly<Record<string, string>>): NodeIdentity => ({
  ...{ name: "n", hostname: "host", labels, taints: [], providerId: "" },
  ...{ isUnschedulable: false, architecture: "amd64" },
});

const OWN = {
  "kubernetes.io/hostname": "host",
  "kubernetes.io/os": "linux",
  "kubernetes.io/arch": "amd64",
  "beta.kubernetes.io/os": "linux",
  "beta.kubernetes.io/arch": "amd64",
};
const ZONE = "topology.kubernetes.io/zone";

describe("--node-labels on a Node that exists", () => {
  const rows = [
    { name: "topology.kubernetes.io/zone is set", labels: { [ZONE]: "z" }, want: { [ZONE]: "z" } },
    { name: "other labels are left to their owners", labels: { team: "a" }, want: {} },
    { name: "empty values are not set", labels: { [ZONE]: "" }, want: {} },
    {
      name: "kubernetes.io/hostname of the flag replaces the own one",
      labels: { "kubernetes.io/hostname": "other" },
      want: { "kubernetes.io/hostname": "other" },
    },
  ];
  for (const { name, labels, want } of rows) {
    test(name, () => {
      assert.deepEqual(labelsOfExistingNode(identityWith(labels)), { ...OWN, ...want });
    });
  }
});
