import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { ingressKind } from "#api/kinds/networking/v1/ingress.ts";
import { ingressClassKind } from "#api/kinds/networking/v1/ingress-class.ts";
import { storageClassKind } from "#api/kinds/storage/v1/storage-class.ts";
import {
  admitWith,
  type Loose,
  looseObject as object,
  loosePod as pod,
  specOf,
} from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-classes.ts";
import { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
import { taintNodesByCondition } from "./node/taint-nodes.ts";
import { podTopologyLabels } from "./pod-topology-labels.ts";
import { storageObjectInUseProtection } from "./storage-protection.ts";

describe("small defaults", () => {
  test("TaintNodesByCondition: new nodes get the taint not-ready", async () => {
    const result = await admitWith(taintNodesByCondition, nodeKind, object("n", { spec: {} }));
    assert.deepEqual(result.object?.spec.taints, [
      { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" },
    ]);
  });

  test("pods tolerate lost nodes for five minutes, unless they say so themselves", async () => {
    const plugin = defaultTolerationSeconds({ notReady: 300, unreachable: 60 });
    const keys = async (tolerations: Loose[]) =>
      specOf(await admitWith(plugin, podKind, pod({ tolerations }))).tolerations!.map(
        ({ key, tolerationSeconds }) => `${key ?? "*"} ${tolerationSeconds ?? "-"}`,
      );
    assert.deepEqual(await keys([]), [
      "node.kubernetes.io/not-ready 300",
      "node.kubernetes.io/unreachable 60",
    ]);
    assert.deepEqual(await keys([{ operator: "Exists" }]), ["* -"]);
    assert.deepEqual(await keys([{ key: "node.kubernetes.io/not-ready", operator: "Exists" }]), [
      "node.kubernetes.io/not-ready -",
      "node.kubernetes.io/unreachable 60",
    ]);
  });

  test("DefaultStorageClass and DefaultIngressClass: the newest default class is set", async () => {
    const objects = new MemoryObjects();
    const marked = (key: string, creationTimestamp: string) => ({
      annotations: { [`${key}.kubernetes.io/is-default-class`]: "true" },
      creationTimestamp,
    });
    for (const [name, time] of [
      ["old", "2030-01-01T00:00:00Z"],
      ["new", "2030-01-02T00:00:00Z"],
    ] as const) {
      objects.put(storageClassKind, object(name, {}, marked("storageclass", time)));
      objects.put(ingressClassKind, object(name, {}, marked("ingressclass", time)));
    }
    const claim = await admitWith(
      defaultStorageClass,
      persistentVolumeClaimKind,
      object("c", { spec: {} }),
      { objects },
    );
    const ingress = await admitWith(defaultIngressClass, ingressKind, object("i", { spec: {} }), {
      objects,
    });
    assert.equal(claim.object?.spec.storageClassName, "new");
    assert.equal(ingress.object?.spec.ingressClassName, "new");
    const own = object("c", { spec: { storageClassName: "" } });
    const kept = await admitWith(defaultStorageClass, persistentVolumeClaimKind, own, { objects });
    assert.equal(kept.object?.spec.storageClassName, "");
  });

  test("volumes and claims are protected", async () => {
    for (const [kind, finalizer] of [
      [persistentVolumeKind, "kubernetes.io/pv-protection"],
      [persistentVolumeClaimKind, "kubernetes.io/pvc-protection"],
    ] as const) {
      const result = await admitWith(storageObjectInUseProtection, kind as never, object("x"));
      assert.deepEqual(result.object?.metadata.finalizers, [finalizer]);
    }
  });

  test("pods carry the zone of their node", async () => {
    const objects = new MemoryObjects();
    const labels = { "topology.kubernetes.io/zone": "z", other: "x" };
    objects.put(nodeKind, { metadata: { name: "n", labels } } as never);
    const result = await admitWith(podTopologyLabels, podKind, pod({ nodeName: "n" }), { objects });
    assert.deepEqual(result.object?.metadata.labels, { "topology.kubernetes.io/zone": "z" });
    const target = { kind: "Node", name: "n" };
    const binding = await admitWith(podTopologyLabels, podKind, object("p", { target }), {
      objects,
      subresource: "binding",
    });
    assert.deepEqual(binding.object?.metadata.labels, { "topology.kubernetes.io/zone": "z" });
  });
});
