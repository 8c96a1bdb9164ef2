import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  allTypeNames,
  findSchema,
  findSchemaByDefinition,
  findSchemaOfKind,
  schemaOf,
} from "./from-facts.ts";
import type { Schema, StructSchema } from "./schema.ts";

/** Follows field names; a list is stepped into by its item, a map by its value. */
function at(type: string, ...path: readonly string[]): Schema {
  let schema: Schema = schemaOf(type);
  for (const step of path) {
    while (schema.shape === "list") schema = schema.item;
    assert.equal(schema.shape, "struct");
    schema = (schema as StructSchema).byName.get(step)!.schema;
  }
  return schema;
}

describe("schemas from fact tables", () => {
  const goTypes = [
    { path: ["spec"], goType: "v1.PodSpec" },
    { path: ["metadata"], goType: "v1.ObjectMeta" },
    { path: ["metadata", "uid"], goType: "types.UID" },
    { path: ["metadata", "labels"], goType: "map[string]string" },
    { path: ["spec", "containers"], goType: "[]v1.Container" },
    { path: ["spec", "containers", "ports", "protocol"], goType: "v1.Protocol" },
    { path: ["spec", "containers", "command"], goType: "[]string" },
    { path: ["spec", "containers", "resources", "limits"], goType: "v1.ResourceList" },
    {
      path: ["spec", "containers", "livenessProbe", "httpGet", "port"],
      goType: "intstr.IntOrString",
    },
    { path: ["spec", "terminationGracePeriodSeconds"], goType: "int64" },
    { path: ["status", "startTime"], goType: "v1.Time" },
  ];
  for (const { path, goType } of goTypes) {
    test(`${path.join(".")} of a pod is ${goType}`, () => {
      assert.equal(at("core.v1.Pod", ...path).goType, goType);
    });
  }

  test("bytes in a map are named as Go names them", () => {
    assert.equal(at("core.v1.Secret", "data").goType, "map[string][]uint8");
  });

  test("fields stand in writing order with inlined structs flattened", () => {
    const names = schemaOf("core.v1.Volume").fields.map((f) => f.name);
    assert.deepEqual(names.slice(0, 3), ["name", "hostPath", "emptyDir"]);
    assert.deepEqual(schemaOf("core.v1.Volume").byName.get("hostPath")!.inlinedBy, [
      { proto: "k8s.io.api.core.v1.VolumeSource", number: 2 },
    ]);
    const pod = schemaOf("core.v1.Pod").fields.map((f) => [f.name, f.number]);
    assert.deepEqual(pod.slice(0, 3), [
      ["kind", 0],
      ["apiVersion", 0],
      ["metadata", 1],
    ]);
  });

  test("the field decides the list type, the keys and whether a map is atomic", () => {
    const ports = at("core.v1.Pod", "spec", "containers", "ports");
    assert.ok(ports.shape === "list");
    assert.deepEqual([ports.listType, ports.keys], ["map", ["containerPort", "protocol"]]);
    const selector = at("core.v1.Service", "spec", "selector");
    assert.ok(selector.shape === "map" && selector.atomic);
    const claim = at("core.v1.PersistentVolume", "spec", "claimRef");
    assert.ok(claim.shape === "struct" && !claim.atomic);
    assert.equal(schemaOf("core.v1.ObjectReference").atomic, true);
  });

  test("a schema of schemas knows its object form", () => {
    const items = at("apiextensions.v1.JSONSchemaProps", "items");
    assert.ok(items.shape === "any");
    assert.equal(items.struct, schemaOf("apiextensions.v1.JSONSchemaProps"));
  });

  test("one struct has one schema, however it is found", () => {
    const pod = schemaOf("core.v1.Pod");
    assert.equal(findSchemaByDefinition("io.k8s.api.core.v1.Pod"), pod);
    assert.equal(findSchemaOfKind("", "v1", "Pod"), pod);
    assert.equal(findSchema("core.v1.NoSuchThing"), undefined);
    assert.equal(findSchemaOfKind("", "v1", "PodSpec"), undefined);
    const options = schemaOf("meta.v1.DeleteOptions");
    assert.equal(findSchemaOfKind("apps", "v1", "DeleteOptions"), options);
    assert.equal(findSchemaOfKind("admission.k8s.io", "v1", "AdmissionRequest"), undefined);
    assert.throws(() => schemaOf("nowhere.v1.Pod"), /nowhere/);
  });

  test("every type of every table resolves", () => {
    for (const type of allTypeNames()) {
      for (const field of schemaOf(type).fields) assert.notEqual(field.schema.goType, "", type);
    }
  });
});
