import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { limitRangeKind } from "#api/kinds/core/v1/resources/limit-range.ts";
import {
  admitWith,
  type Loose,
  looseObject as object,
  loosePod as pod,
  specOf,
} from "#testing/admission.ts";
import { MemoryObjects } from "#testing/memory-objects.ts";
import { limitRanger } from "./limit-ranger.ts";

describe("LimitRanger", () => {
  const world = (...limits: Loose[]): MemoryObjects => {
    const objects = new MemoryObjects();
    objects.put(limitRangeKind, object("l", { spec: { limits } }));
    return objects;
  };
  const admit = (resources: Loose | undefined, ...limits: Loose[]) =>
    admitWith(limitRanger, podKind, pod({ containers: [{ name: "c", resources }] }), {
      objects: world(...limits),
    });

  test("sets default requests and limits, and an annotation", async () => {
    const result = await admit(
      { requests: { cpu: "200m" } },
      {
        type: "Container",
        default: { cpu: "500m", memory: "128Mi" },
        defaultRequest: { cpu: "100m" },
      },
    );
    assert.deepEqual(specOf(result).containers![0]!.resources, {
      requests: { cpu: "200m" },
      limits: { cpu: "500m", memory: "128Mi" },
    });
    assert.deepEqual(result.object?.metadata.annotations, {
      "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu, memory limit for container c",
    });
  });

  const container = { type: "Container" };
  const cases: { name: string; resources: Loose; limits: Loose[]; why: string }[] = [
    {
      name: "too little",
      resources: { requests: { cpu: "50m" } },
      limits: [{ ...container, min: { cpu: "100m" } }],
      why: "minimum cpu usage per Container is 100m, but request is 50m",
    },
    {
      name: "nothing said",
      resources: {},
      limits: [{ ...container, min: { memory: "1Mi" } }],
      why: "minimum memory usage per Container is 1Mi.  No request is specified",
    },
    {
      name: "too much, for the container and for the pod",
      resources: { requests: { cpu: "2" }, limits: { cpu: "2" } },
      limits: [
        { ...container, max: { cpu: "1" } },
        { type: "Pod", max: { cpu: "1500m" } },
      ],
      why:
        "[maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Pod is 1500m, " +
        "but limit is 2]",
    },
    {
      name: "too wide",
      resources: { requests: { cpu: "200m" }, limits: { cpu: "900m" } },
      limits: [{ ...container, maxLimitRequestRatio: { cpu: "2" } }],
      why: "cpu max limit to request ratio per Container is 2, but provided ratio is 4.500000",
    },
  ];
  for (const { name, resources, limits, why } of cases) {
    test(`refuses ${name}`, async () => {
      const { status } = await admit(resources, ...limits);
      assert.equal(status?.message, `pods "p" is forbidden: ${why}`);
    });
  }

  test("storage of PersistentVolumeClaims is bounded", async () => {
    const objects = world({ type: "PersistentVolumeClaim", max: { storage: "2Gi" } });
    const claim = object("c", { spec: { resources: { requests: { storage: "5Gi" } } } });
    const { status } = await admitWith(limitRanger, persistentVolumeClaimKind, claim, { objects });
    assert.equal(
      status?.message,
      'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is ' +
        "2Gi, but request is 5Gi",
    );
  });
});
