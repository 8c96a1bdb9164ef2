import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { union } from "./field-set.ts";
import { keepTimes } from "./keep-times.ts";
import { resetFieldsOf, STATUS_RESETS_METADATA } from "./reset-fields.ts";
import { managersAfterScale, scaleManagers } from "./scale.ts";
import { filtered } from "./versions.ts";

describe("server-side apply: fields that a place resets", () => {
  const all = {
    "f:metadata": { "f:labels": { "f:a": {} }, "f:ownerReferences": { 'k:{"uid":"u"}': {} } },
    "f:spec": {
      "f:containers": {
        'k:{"name":"c"}': { ".": {}, "f:image": {}, "f:resources": { "f:limits": {} } },
      },
      "f:ephemeralContainers": { 'k:{"name":"e"}': { ".": {}, "f:image": {} } },
    },
    "f:status": { "f:certificate": {}, "f:conditions": {} },
  };
  const { "f:metadata": metadata, "f:spec": spec, "f:status": status } = all;
  const containers = {
    "f:containers": { 'k:{"name":"c"}': { ".": {}, "f:resources": { "f:limits": {} } } },
  };
  const rows: readonly (readonly [place: string, left: object])[] = [
    ["apps/deployments/", { "f:metadata": metadata, "f:spec": spec }],
    [
      "apps/deployments/status",
      { "f:metadata": { "f:ownerReferences": metadata["f:ownerReferences"] }, "f:status": status },
    ],
    ["apps/replicasets/status", { "f:metadata": metadata, "f:status": status }],
    ["apps/replicasets/scale", all],
    ["/pods/status", { "f:metadata": { "f:labels": { "f:a": {} } }, "f:status": status }],
    ["/pods/resize", { "f:spec": containers }],
    [
      "/pods/ephemeralcontainers",
      { "f:spec": { "f:ephemeralContainers": spec["f:ephemeralContainers"] } },
    ],
    ["networking.k8s.io/servicecidrs/status", { "f:status": status }],
    ["certificates.k8s.io/certificatesigningrequests/", { "f:metadata": metadata }],
    [
      "certificates.k8s.io/certificatesigningrequests/status",
      { "f:metadata": metadata, "f:status": { "f:certificate": {} } },
    ],
    [
      "certificates.k8s.io/certificatesigningrequests/approval",
      { "f:metadata": metadata, "f:status": { "f:conditions": {} } },
    ],
  ];
  for (const [place, left] of rows) {
    test(place, () => {
      const [group = "", plural = "", subresource = ""] = place.split("/");
      const kind = builtInKinds.find((one) => one.group === group && one.names.plural === plural)!;
      assert.deepEqual(filtered(all, resetFieldsOf(kind, subresource)), left);
    });
  }
  test("without a status there is nothing to reset", () => {
    assert.equal(resetFieldsOf(configMapKind, ""), undefined);
  });
  test("status of custom resources", () => {
    assert.deepEqual(filtered(all, STATUS_RESETS_METADATA.status), { "f:status": status });
  });
});

describe("server-side apply: scale", () => {
  const replicas = { "f:spec": { "f:replicas": {} } };
  const entry = (manager: string, operation: string, fieldsV1: object, more: object = {}) => ({
    manager,
    operation,
    apiVersion: "apps/v1",
    time: "2030-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1,
    ...more,
  });
  const paths = { "apps/v1": ["f:spec", "f:replicas"] };
  const paused = { "f:spec": { "f:paused": {} } };
  const object = [
    entry("a", "Apply", union(paused, replicas)),
    entry("b", "Update", union(paused, replicas)),
    entry("c", "Update", paused),
    entry("d", "Update", replicas, { apiVersion: "old/v1" }),
  ];
  const scale = { apiVersion: "autoscaling/v1" };
  test("managers of replicas are the managers of the Scale", () => {
    assert.deepEqual(scaleManagers(object, paths), [
      entry("a", "Apply", replicas, scale),
      entry("b", "Update", replicas, scale),
    ]);
    assert.equal(scaleManagers([], paths), undefined);
  });
  test("who loses them on the Scale loses them on the object, who takes them owns them", () => {
    const taker = entry("hpa", "Update", replicas, { ...scale, subresource: "scale" });
    const { time: _, ...withoutTime } = entry("hpa", "Update", replicas, { subresource: "scale" });
    assert.deepEqual(managersAfterScale(object, [taker], paths, "apps/v1"), [
      entry("a", "Apply", paused),
      withoutTime,
      entry("b", "Update", paused),
      entry("c", "Update", paused),
    ]);
  });
  test("who still owns them keeps them", () => {
    const kept = managersAfterScale(object, scaleManagers(object, paths), paths, "apps/v1");
    assert.deepEqual(kept, object.slice(0, 3));
  });
});

describe("server-side apply: times", () => {
  const at = (time: string, data: object, manager = "m") => ({
    metadata: { name: "a", managedFields: [{ manager, time }] },
    data,
  });
  test("stay if nothing else changed", () => {
    const old = at("1", { k: "v" });
    assert.equal(
      keepTimes(at("2", { k: "v" }), old).metadata.managedFields,
      old.metadata.managedFields,
    );
  });
  for (const [name, next] of [
    ["data", at("2", { k: "w" })],
    ["a manager", at("2", { k: "v" }, "n")],
    ["nothing", at("1", { k: "v" })],
    ["all managers", { metadata: { name: "a" }, data: { k: "v" } }],
  ] as const) {
    test(`the object is as it is if ${name} changed`, () => {
      assert.equal(keepTimes(next, at("1", { k: "v" })), next);
    });
  }
});
