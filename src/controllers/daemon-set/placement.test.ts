import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { DaemonSet } from "#api/generated/apps.v1.ts";
import type { Node, PodSpec, Taint } from "#api/generated/core.v1.ts";
import { daemonSetKind } from "#api/kinds/apps/v1/daemon-set.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { completed } from "#testing/build.ts";
import { newPod, nodeOf, placementOn } from "./placement.ts";

const daemonSet = (spec: Partial<PodSpec> = {}): DaemonSet =>
  completed(daemonSetKind, {
    metadata: { name: "agent", uid: "u" },
    spec: { template: { spec } },
  });

const node = (labels: Record<string, string> = {}, taints: readonly Taint[] = []): Node =>
  completed(nodeKind, { metadata: { name: "n1", labels }, spec: { taints } });

const affinity = (
  key: string,
  operator: string,
  values: readonly string[] = [],
): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});

const rows: readonly {
  readonly name: string;
  readonly spec?: Partial<PodSpec>;
  readonly labels?: Record<string, string>;
  readonly taints?: readonly Taint[];
  readonly want: "runs" | "stays" | "goes";
}[] = [
  { name: "any node", want: "runs" },
  { name: "another node's name", spec: { nodeName: "n2" }, want: "goes" },
  {
    name: "a selector that matches",
    spec: { nodeSelector: { a: "1" } },
    labels: { a: "1" },
    want: "runs",
  },
  { name: "a selector that does not", spec: { nodeSelector: { a: "1" } }, want: "goes" },
  { name: "affinity In", spec: affinity("a", "In", ["1"]), labels: { a: "1" }, want: "runs" },
  { name: "affinity NotIn", spec: affinity("a", "NotIn", ["1"]), labels: { a: "1" }, want: "goes" },
  { name: "affinity NotIn, no such label", spec: affinity("a", "NotIn", ["1"]), want: "runs" },
  { name: "affinity DoesNotExist", spec: affinity("a", "DoesNotExist"), want: "runs" },
  { name: "affinity Gt", spec: affinity("a", "Gt", ["9"]), labels: { a: "10" }, want: "runs" },
  { name: "affinity Lt", spec: affinity("a", "Lt", ["9"]), labels: { a: "10" }, want: "goes" },
  {
    name: "a taint that keeps pods away",
    taints: [{ key: "x", effect: "NoSchedule" }],
    want: "stays",
  },
  {
    name: "a taint that drives pods out",
    taints: [{ key: "x", effect: "NoExecute" }],
    want: "goes",
  },
  { name: "a soft taint", taints: [{ key: "x", effect: "PreferNoSchedule" }], want: "runs" },
  {
    name: "a taint that it tolerates",
    spec: { tolerations: [{ key: "x", value: "1", effect: "NoExecute" }] },
    taints: [{ key: "x", value: "1", effect: "NoExecute" }],
    want: "runs",
  },
  {
    name: "a node that is cordoned, not ready and full",
    taints: [
      { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" },
      { key: "node.kubernetes.io/not-ready", effect: "NoExecute" },
      { key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" },
    ],
    want: "runs",
  },
  {
    name: "a node without network",
    taints: [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }],
    want: "stays",
  },
  {
    name: "a node without network, for one that uses the node's own",
    spec: { hostNetwork: true },
    taints: [{ key: "node.kubernetes.io/network-unavailable", effect: "NoSchedule" }],
    want: "runs",
  },
];

describe("newPod: placement of daemons", () => {
  for (const { name, spec, labels, taints, want } of rows) {
    test(`${name}: ${want}`, () => {
      const { starts, stays } = placementOn(node(labels, taints), daemonSet(spec));
      assert.equal(starts ? "runs" : stays ? "stays" : "goes", want);
    });
  }

  test("a pod is bound to its node by affinity, whatever else the template wants", () => {
    const pod = newPod(daemonSet(affinity("a", "In", ["1"])), "hash", "n1");
    assert.equal(nodeOf(pod), "n1");
    assert.deepEqual(
      pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
      {
        nodeSelectorTerms: [
          { matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] },
        ],
      },
    );
    assert.equal(pod.metadata.labels?.["controller-revision-hash"], "hash");
    assert.equal(pod.spec.tolerations?.length, 6);
  });
});
