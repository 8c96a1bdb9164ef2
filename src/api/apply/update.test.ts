import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { schemaOf } from "#api/schema/from-facts.ts";
import { fieldSet } from "./field-set.ts";
import { applyUpdate, History } from "./history.testing.ts";

const configMap = () => new History("v1", "ConfigMap");
const [m1, m2] = [{ manager: "m1" }, { manager: "m2" }];

describe("server-side apply: who writes a field owns it", () => {
  test("a create owns all it sets, but nothing that the server sets", () => {
    const history = configMap().put(m1, {
      metadata: { labels: { a: "b" }, finalizers: ["x"], uid: "u", generation: 1 },
      data: { k: "v" },
    });
    assert.deepEqual(history.managers(), [
      "m1 Update @1 {f:data:{.:{},f:k:{}},f:metadata:{f:finalizers:{.:{},v:\\x\\:{}},f:labels:{.:{},f:a:{}}}}",
    ]);
  });
  test("another manager takes what it changes", () => {
    const history = configMap()
      .put(m1, { data: { k: "v", l: "w" } })
      .put(m2, { data: { k: "x", l: "w", m: "n" } });
    assert.deepEqual(history.managers(), [
      "m1 Update @1 {f:data:{.:{},f:l:{}}}",
      "m2 Update @2 {f:data:{f:k:{},f:m:{}}}",
    ]);
  });
  test("removed fields have no manager", () => {
    const history = configMap()
      .put(m1, { data: { k: "v", l: "w" } })
      .put(m2, { data: { k: "v" } });
    assert.deepEqual(history.managers(), ["m1 Update @1 {f:data:{.:{},f:k:{}}}"]);
    history.put(m2, {});
    assert.deepEqual(history.managers(), []);
  });
  test("a write that changes nothing changes no time and no entry", () => {
    const history = configMap().put(m1, { data: { k: "v" } });
    const before = (history.live.metadata as { managedFields: unknown }).managedFields;
    history.put(m2, { data: { k: "v" } });
    assert.deepEqual(history.managers(), ["m1 Update @1 {f:data:{.:{},f:k:{}}}"]);
    assert.deepEqual((history.live.metadata as { managedFields: unknown }).managedFields, before);
  });
  test("a member that is undefined is removed, and nothing else is", () => {
    const { live } = configMap().put(m1, { binaryData: { b: "dg==" }, data: { k: "v" } });
    const input = { schema: schemaOf("core.v1.ConfigMap"), apiVersion: "v1", subresource: "" };
    const next = { ...live, binaryData: undefined };
    const { metadata } = applyUpdate({ ...input, live, next, manager: "m2", nowIso: "" });
    const [{ fieldsV1 }] = (metadata as { managedFields: [{ fieldsV1: unknown }] }).managedFields;
    assert.deepEqual(fieldsV1, { "f:data": { ".": {}, "f:k": {} } });
  });
  test("the same manager adds to what it has", () => {
    const history = configMap()
      .put(m1, { data: { k: "v" } })
      .put(m1, { data: { k: "w", l: "x" } });
    assert.deepEqual(history.managers(), ["m1 Update @2 {f:data:{.:{},f:k:{},f:l:{}}}"]);
  });
  test("a write without a field manager is owned by the manager unknown", () => {
    assert.deepEqual(
      configMap()
        .put({ manager: "" }, { data: { k: "v" } })
        .managers(),
      ["unknown Update @1 {f:data:{.:{},f:k:{}}}"],
    );
  });
});

describe("managedFields of an update: lists and structs", () => {
  test("map lists are owned by key, sets by value, atomic lists and structs as one", () => {
    const history = new History("v1", "Service").put(m1, {
      metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u1" }] },
      spec: {
        ports: [{ port: 80, protocol: "TCP" }],
        selector: { a: "b" },
        externalIPs: ["1.1.1.1"],
      },
    });
    assert.deepEqual(history.managers(), [
      "m1 Update @1 {f:metadata:{f:ownerReferences:{.:{},k:{\\uid\\:\\u1\\}:{}}},f:spec:{f:externalIPs:{},f:ports:{.:{},k:{\\port\\:80,\\protocol\\:\\TCP\\}:{.:{},f:port:{},f:protocol:{},f:targetPort:{}}},f:selector:{}}}",
    ]);
    history.put(m2, {
      metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u1" }] },
      spec: {
        ports: [
          { port: 81, protocol: "TCP" },
          { port: 80, protocol: "TCP", name: "x" },
        ],
        selector: { a: "c" },
        externalIPs: ["1.1.1.1"],
      },
    });
    assert.deepEqual(history.managers(), [
      "m1 Update @1 {f:metadata:{f:ownerReferences:{.:{},k:{\\uid\\:\\u1\\}:{}}},f:spec:{f:externalIPs:{},f:ports:{.:{},k:{\\port\\:80,\\protocol\\:\\TCP\\}:{.:{},f:port:{},f:protocol:{},f:targetPort:{}}}}}",
      "m2 Update @2 {f:spec:{f:ports:{k:{\\port\\:80,\\protocol\\:\\TCP\\}:{f:name:{}},k:{\\port\\:81,\\protocol\\:\\TCP\\}:{.:{},f:port:{},f:protocol:{},f:targetPort:{}}},f:selector:{}}}",
    ]);
  });
  test("items that share a key are owned together without their fields", () => {
    const port = (name: string) => ({ name, port: 80, protocol: "TCP" });
    const history = new History("v1", "Service").put(m1, {
      spec: { ports: [port("a"), port("b")] },
    });
    const key = "k:{\\port\\:80,\\protocol\\:\\TCP\\}";
    assert.deepEqual(history.managers(), [`m1 Update @1 {f:spec:{f:ports:{.:{},${key}:{}}}}`]);
    history.put(m2, { spec: { ports: [port("a"), port("c")] } });
    assert.deepEqual(history.managers(), [
      "m1 Update @1 {f:spec:{f:ports:{}}}",
      `m2 Update @2 {f:spec:{f:ports:{${key}:{}}}}`,
    ]);
    history.put(m1, { spec: { ports: [port("a")] } });
    assert.deepEqual(history.managers(), [
      `m1 Update @3 {f:spec:{f:ports:{.:{},${key}:{.:{},f:name:{},f:port:{},f:protocol:{},f:targetPort:{}}}}}`,
    ]);
  });
  test("free JSON: objects part by part, lists and values as one", () => {
    const revision = (data: unknown) => ({ data, revision: 1 });
    const history = new History("apps/v1", "ControllerRevision").put(
      m1,
      revision({ a: { b: [1], c: 1 } }),
    );
    assert.deepEqual(history.managers(), [
      "m1 Update @1 {f:data:{f:a:{.:{},f:b:{},f:c:{}}},f:revision:{}}",
    ]);
    history.put(m2, revision({ a: "x" }));
    assert.deepEqual(history.managers(), [
      "m1 Update @1 {f:revision:{}}",
      "m2 Update @2 {f:data:{f:a:{}}}",
    ]);
    history.put(m1, revision({ a: { d: 1 } }));
    assert.deepEqual(history.managers(), [
      "m1 Update @3 {f:data:{f:a:{.:{},f:d:{}}},f:revision:{}}",
    ]);
  });
  test("keys of maps such as constructor and . are plain names", () => {
    const history = configMap().put(m1, { data: { constructor: "v", ".": "w" } });
    assert.deepEqual(history.managers(), ["m1 Update @1 {f:data:{.:{},f:.:{},f:constructor:{}}}"]);
  });
});

describe("server-side apply: places", () => {
  const except = (name: string) => ({ except: fieldSet([name]) });
  test("a subresource is a manager of its own, and its reset fields have no manager", () => {
    const main = { manager: "a", filter: except("status") };
    const status = { manager: "a", subresource: "status", filter: except("spec") };
    const history = new History("apps/v1", "Deployment")
      .put(main, { spec: { replicas: 1 }, status: { replicas: 1 } })
      .put(status, { spec: { replicas: 2 }, status: { replicas: 2 } });
    assert.deepEqual(history.managers(), [
      "a Update @1 {f:spec:{f:replicas:{}}}",
      "a Update/status @2 {f:status:{f:replicas:{}}}",
    ]);
  });
  test("a subresource cannot state managers", () => {
    const history = configMap().put(m1, { data: { k: "v" } });
    const forged = [
      { manager: "x", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} },
    ];
    history.put(
      { manager: "m2", subresource: "status" },
      { metadata: { managedFields: forged }, data: { k: "v" } },
    );
    assert.deepEqual(history.managers(), ["m1 Update @1 {f:data:{.:{},f:k:{}}}"]);
  });
});

describe("server-side apply: stated managers", () => {
  test("a request may state them", () => {
    const history = configMap().put(m1, { data: { k: "v" } });
    const managedFields = [
      {
        manager: "x",
        operation: "Apply",
        apiVersion: "v1",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:data": { "f:k": {} } },
      },
    ];
    history.put(m2, { metadata: { managedFields }, data: { k: "v" } });
    assert.deepEqual(history.managers(), ["x Apply {f:data:{f:k:{}}}"]);
  });
  for (const [name, managedFields] of [
    ["no operation", [{ manager: "x", apiVersion: "v1", fieldsType: "FieldsV1" }]],
    ["no version", [{ manager: "x", operation: "Apply", fieldsType: "FieldsV1" }]],
    ["another type", [{ manager: "x", operation: "Apply", apiVersion: "v1", fieldsType: "V2" }]],
    [
      "broken fields",
      [
        {
          manager: "x",
          operation: "Apply",
          apiVersion: "v1",
          fieldsType: "FieldsV1",
          fieldsV1: { x: {} },
        },
      ],
    ],
  ] as const) {
    test(`that cannot be read do not count: ${name}`, () => {
      const history = configMap().put(m1, { data: { k: "v" } });
      history.put(m2, { metadata: { managedFields }, data: { k: "v" } });
      assert.deepEqual(history.managers(), ["m1 Update @1 {f:data:{.:{},f:k:{}}}"]);
    });
  }
  test("an empty list survives decoding, so that it is distinguished from an absent one", () => {
    const history = configMap().put(m1, { data: { k: "v" } });
    history.put(m2, { metadata: { managedFields: [] }, data: { k: "v" } });
    assert.deepEqual(history.managers(), []);
  });
  for (const managedFields of [[], [{}]]) {
    test(`${JSON.stringify(managedFields)} forgets all, until the object is applied`, () => {
      const live = configMap().put(m1, { data: { k: "v" } }).live;
      const metadata = { name: "a", uid: "u", managedFields };
      const input = {
        schema: schemaOf("core.v1.ConfigMap"),
        manager: "m",
        apiVersion: "v1",
        subresource: "",
        nowIso: "",
      };
      const reset = applyUpdate({ ...input, live, next: { ...live, metadata } });
      assert.deepEqual(reset.metadata, { name: "a", uid: "u" });
      const later = applyUpdate({ ...input, live: reset, next: { ...reset, data: { k: "w" } } });
      assert.deepEqual(later.metadata, { name: "a", uid: "u" });
    });
  }
});

test("server-side apply: more than ten updaters: the oldest are put together", () => {
  const history = configMap();
  const data: Record<string, string> = {};
  for (let i = 0; i < 13; i++) {
    data[`k${i}`] = "v";
    history.put({ manager: `m${i}` }, { data: { ...data } });
  }
  const managers = history.managers();
  assert.equal(managers.length, 10);
  assert.equal(
    managers[0],
    "ancient-changes Update @4 {f:data:{.:{},f:k0:{},f:k1:{},f:k2:{},f:k3:{}}}",
  );
  assert.equal(managers[1], "m4 Update @5 {f:data:{f:k4:{}}}");
});

test("lists with invalid items: the object ends up without managedFields", () => {
  const schema = schemaOf("core.v1.ConfigMap");
  const next = { metadata: { name: "a", finalizers: [null] } };
  const result = applyUpdate({
    schema,
    live: undefined,
    next,
    manager: "m",
    apiVersion: "v1",
    subresource: "",
    nowIso: "",
  });
  assert.equal(result, next);
});

test("server-side apply: other versions of the kind: compared in the manager's version, forgotten when not served", () => {
  const v1 = schemaOf("core.v1.ConfigMap");
  const seam = {
    schema: (apiVersion: string) => (apiVersion === "old/v1" ? v1 : undefined),
    convert: (object: Readonly<Record<string, unknown>>) => ({
      ...object,
      data: { old: (object.data as { k?: string }).k },
    }),
  };
  const entry = (manager: string, apiVersion: string, name: string) => ({
    manager,
    operation: "Update",
    apiVersion,
    fieldsType: "FieldsV1",
    fieldsV1: { "f:data": { [`f:${name}`]: {} } },
  });
  const history = new History("v1", "ConfigMap", seam);
  history.put(m1, { data: { k: "v" } });
  const managedFields = [
    entry("m1", "v1", "k"),
    entry("m2", "old/v1", "old"),
    entry("m3", "gone/v1", "k"),
  ];
  history.put(m1, { metadata: { managedFields }, data: { k: "v" } });
  assert.deepEqual(history.managers(), [
    "m1 Update {f:data:{f:k:{}}}",
    "m2 Update {f:data:{f:old:{}}}",
  ]);
  history.put(m1, { metadata: { managedFields }, data: { k: "w" } });
  assert.deepEqual(history.managers(), ["m1 Update @3 {f:data:{f:k:{}}}"]);
});
