import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { JsonObject } from "#api/patch/json-value.ts";
import type { Field, Schema, StructSchema } from "#api/schema/schema.ts";
import { History } from "./history.testing.ts";

const [m1, m2, u1] = [{ manager: "m1" }, { manager: "m2" }, { manager: "u1" }];
const forced = { manager: "m2", force: true };
const configMap = () => new History("v1", "ConfigMap");

describe("server-side apply: owning what is applied", () => {
  test("the fields of the configuration", () => {
    const history = configMap();
    assert.equal(
      history.apply(m1, { data: { k: "v" }, metadata: { labels: { a: "b" } } }),
      undefined,
    );
    assert.deepEqual(history.managers(), [
      "m1 Apply @1 {f:data:{f:k:{}},f:metadata:{f:labels:{f:a:{}}}}",
    ]);
    assert.deepEqual(history.live.data, { k: "v" });
  });
  test("fields that are no longer applied are removed, unless another manager owns them", () => {
    const history = configMap();
    history.apply(m1, { data: { k: "v", l: "w", m: "x" } });
    history.apply(m2, { data: { l: "w" } });
    history.apply(m1, { data: { k: "v" } });
    assert.deepEqual(history.live.data, { k: "v", l: "w" });
    assert.deepEqual(history.managers(), [
      "m2 Apply {f:data:{f:l:{}}}",
      "m1 Apply @3 {f:data:{f:k:{}}}",
    ]);
    history.apply(m1, {});
    assert.deepEqual(history.live.data, { l: "w" });
    history.apply(m2, {});
    assert.equal(history.live.data, undefined);
    assert.deepEqual(history.managers(), []);
  });
  test("an apply that changes nothing keeps the time", () => {
    const history = configMap();
    history.apply(m1, { data: { k: "v" } });
    const before = history.live;
    history.apply(m1, { data: { k: "v" } });
    assert.deepEqual(history.managers(), ["m1 Apply @1 {f:data:{f:k:{}}}"]);
    assert.deepEqual(history.live, before);
  });
  test("null is a value", () => {
    const history = configMap();
    history.apply(m1, { metadata: { labels: null }, data: { k: null, l: "x" } });
    assert.deepEqual(history.managers(), [
      "m1 Apply @1 {f:data:{f:k:{},f:l:{}},f:metadata:{f:labels:{}}}",
    ]);
    assert.deepEqual(history.live.data, { k: "", l: "x" });
  });
});

describe("server-side apply: conflicts", () => {
  test("a field that another manager owns is a FieldManagerConflict", () => {
    const history = configMap();
    history.apply(m1, { data: { k: "v" } });
    const status = history.apply(m2, { data: { k: "w" } });
    assert.equal(status?.message, 'Apply failed with 1 conflict: conflict with "m1": .data.k');
    assert.deepEqual(status?.details, {
      causes: [{ reason: "FieldManagerConflict", message: 'conflict with "m1"', field: ".data.k" }],
    });
    assert.equal(status?.code, 409);
    assert.deepEqual(history.live.data, { k: "v" });
  });
  test("conflicts with several managers are listed by manager", () => {
    const history = configMap().put(
      { manager: "z", subresource: "status" },
      { data: { a: "1", b: "1" } },
    );
    history.apply(m1, { data: { c: "1" } });
    const status = history.apply(m2, { data: { a: "2", b: "2", c: "2" } });
    assert.equal(
      status?.message,
      'Apply failed with 3 conflicts: conflicts with "m1":\n- .data.c\nconflicts with "z" with subresource "status" using v1:\n- .data.a\n- .data.b',
    );
  });
  test("force takes the field over", () => {
    const history = configMap();
    history.apply(m1, { data: { k: "v", l: "w" } });
    assert.equal(history.apply(forced, { data: { k: "w" } }), undefined);
    assert.deepEqual(history.managers(), [
      "m1 Apply @1 {f:data:{f:l:{}}}",
      "m2 Apply @2 {f:data:{f:k:{}}}",
    ]);
  });
  test("the same value is no conflict: both own it", () => {
    const history = configMap();
    history.apply(m1, { data: { k: "v" } });
    assert.equal(history.apply(m2, { data: { k: "v" } }), undefined);
    assert.deepEqual(history.managers(), [
      "m2 Apply {f:data:{f:k:{}}}",
      "m1 Apply @1 {f:data:{f:k:{}}}",
    ]);
  });
  test("an update takes a field without asking", () => {
    const history = configMap();
    history.apply(m1, { data: { k: "v", l: "w" } });
    history.put(u1, { data: { k: "changed", l: "w" } });
    history.apply(m1, { data: { l: "w" } });
    assert.deepEqual(history.live.data, { k: "changed", l: "w" });
    assert.equal(
      history.apply(m1, { data: { k: "mine", l: "w" } })?.message,
      'Apply failed with 1 conflict: conflict with "u1" using v1: .data.k',
    );
  });
  test("an object that was never applied belongs to a manager of its own", () => {
    const history = configMap().put(u1, { data: { k: "v" } });
    history.put(u1, { metadata: { managedFields: [{}] }, data: { k: "v" } });
    assert.deepEqual(history.managers(), []);
    assert.equal(
      history.apply(m1, { data: { k: "w" } })?.message,
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k',
    );
    history.apply(m1, { data: { k: "v" } });
    assert.deepEqual(history.managers(), [
      "m1 Apply {f:data:{f:k:{}}}",
      "before-first-apply Update @4 {f:data:{.:{},f:k:{}}}",
    ]);
  });
});

describe("server-side apply: lists", () => {
  const template = (...containers: JsonObject[]) => ({ template: { spec: { containers } } });
  const names = (history: History) =>
    (history.live.template as { spec: { containers: { name: string }[] } }).spec.containers.map(
      (c) => c.name,
    );

  test("items by key: each applier has its own", () => {
    const history = new History("v1", "PodTemplate");
    history.apply(m1, template({ name: "c", image: "x", env: [{ name: "A", value: "1" }] }));
    history.apply(m2, template({ name: "d", image: "y" }));
    assert.deepEqual(names(history), ["c", "d"]);
    history.apply(m2, template({ name: "c", image: "x", env: [{ name: "B", value: "2" }] }));
    assert.deepEqual(names(history), ["c"]);
    assert.equal(
      history.apply(m2, template({ name: "c", image: "z" }))?.message,
      'Apply failed with 1 conflict: conflict with "m1": .template.spec.containers[name="c"].image',
    );
  });
  const orders: readonly (readonly [live: string, applied: string, merged: string])[] = [
    ["abc", "", "abc"],
    ["", "ab", "ab"],
    ["abc", "b", "abc"],
    ["abc", "ca", "bca"],
    ["ab", "xa", "xab"],
    ["ab", "ax", "abx"],
    ["abcd", "dxb", "acdxb"],
    ["abc", "cba", "cba"],
  ];
  for (const [live, applied, merged] of orders) {
    test(`order: ${live} with ${applied} is ${merged}`, () => {
      const items = (text: string) => template(...[...text].map((name) => ({ name, image: "i" })));
      const history = new History("v1", "PodTemplate").put(u1, items(live));
      history.apply(m1, items(applied));
      assert.equal(names(history).join(""), merged);
    });
  }
  test("a key field left out counts with its default", () => {
    const history = new History("v1", "Service");
    history.apply(m1, { spec: { ports: [{ port: 80 }, { port: 80, protocol: "UDP" }] } });
    assert.match(
      history.managers()[0]!,
      /k:{\\port\\:80,\\protocol\\:\\TCP\\}:{.:{},f:port:{}},k:{\\port\\:80,\\protocol\\:\\UDP\\}/,
    );
  });
  test("values of a set (metadata.finalizers) are owned one by one", () => {
    const history = configMap();
    history.apply(m1, { metadata: { finalizers: ["x.y/a"] } });
    history.apply(m2, { metadata: { finalizers: ["x.y/b"] } });
    assert.deepEqual((history.live.metadata as JsonObject).finalizers, ["x.y/a", "x.y/b"]);
    history.apply(m1, {});
    assert.deepEqual((history.live.metadata as JsonObject).finalizers, ["x.y/b"]);
  });
  test("a list owned as one is one value", () => {
    const history = new History("v1", "Service");
    history.apply(m1, { spec: { externalIPs: ["1.1.1.1"] } });
    assert.equal(
      history.apply(m2, { spec: { externalIPs: ["2.2.2.2"] } })?.message,
      'Apply failed with 1 conflict: conflict with "m1": .spec.externalIPs',
    );
  });
});

describe("server-side apply: configurations that do not fit", () => {
  const rows: readonly (readonly [applied: JsonObject, code: number, message: string])[] = [
    [{ kind: "Secret" }, 400, "invalid object type: /v1, Kind=Secret"],
    [{ apiVersion: "apps/v1" }, 400, "invalid object type: apps/v1, Kind=ConfigMap"],
    [{ metadata: { managedFields: [] } }, 400, "metadata.managedFields must be nil"],
    [
      { bogus: 1 },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .bogus: field not declared in schema",
    ],
    [
      { metadata: { namespace: "n", labels: [] } },
      500,
      "failed to create typed patch object (n/a; /v1, Kind=ConfigMap): .metadata.labels: expected map, got &{[]}",
    ],
    [
      { data: { k: 1 } },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data.k: expected string, got &value.valueUnstructured{Value:1}",
    ],
    [
      { immutable: "yes" },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .immutable: expected boolean, got &{yes}",
    ],
    [
      { metadata: { generation: "1" } },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.generation: expected numeric (int or float), got string",
    ],
    [
      { metadata: { finalizers: {} } },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.finalizers: expected list, got &{map[]}",
    ],
    [
      { metadata: { finalizers: ["a", "a"] } },
      500,
      'failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.finalizers: duplicate entries for key [="a"]',
    ],
    [
      { metadata: { finalizers: [null] } },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.finalizers: element 0: associative list without keys has an element that's an explicit null",
    ],
    [
      { metadata: { creationTimestamp: {} } },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .metadata.creationTimestamp: expected any scalar, got &{map[]}",
    ],
    [
      { data: { k: 1 }, immutable: 1 },
      500,
      "failed to create typed patch object (/a; /v1, Kind=ConfigMap): errors:\n  .data.k: expected string, got &value.valueUnstructured{Value:1}\n  .immutable: expected boolean, got &{1}",
    ],
  ];
  for (const [applied, code, message] of rows) {
    test(message, () => {
      const status = configMap().apply(m1, applied);
      assert.deepEqual([status?.code, status?.message], [code, message]);
    });
  }
  test("items that share a key", () => {
    const status = new History("v1", "PodTemplate").apply(m1, {
      template: { spec: { containers: [{ name: "c" }, { name: "c" }] } },
    });
    assert.equal(
      status?.message,
      'failed to create typed patch object (/a; /v1, Kind=PodTemplate): .template.spec.containers: duplicate entries for key [name="c"]',
    );
  });
});

describe("migration from client-side apply (last-applied-configuration)", () => {
  const annotation = "kubectl.kubernetes.io/last-applied-configuration";
  const lastApplied = (data: JsonObject) =>
    JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data });
  const migrated = (data: JsonObject, last: JsonObject) =>
    configMap().put(
      { manager: "kubectl-client-side-apply" },
      { metadata: { annotations: { [annotation]: lastApplied(last) } }, data },
    );

  test("kubectl takes over what it applied, and the annotation follows", () => {
    const history = migrated({ k: "v", l: "w" }, { k: "v", l: "w" });
    assert.equal(history.apply({ manager: "kubectl" }, { data: { k: "v2" } }), undefined);
    const { annotations } = history.live.metadata as { annotations: Record<string, string> };
    assert.equal(
      annotations[annotation],
      '{"apiVersion":"v1","data":{"k":"v2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n',
    );
    assert.deepEqual(history.live.data, { k: "v2", l: "w" });
  });
  test("a field that was changed since the last client-side apply is a conflict", () => {
    const history = migrated({ k: "changed", l: "w" }, { k: "v", l: "w" });
    assert.equal(
      history.apply({ manager: "kubectl" }, { data: { k: "v2", l: "x" } })?.message,
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.k',
    );
  });
  test("only the manager kubectl takes the fields over", () => {
    assert.equal(migrated({ k: "v" }, { k: "v" }).apply(m1, { data: { k: "v2" } })?.code, 409);
  });
});

describe("server-side apply: schemas that change", () => {
  test("a manager of a part owns the whole field once the schema makes it atomic", () => {
    const history = configMap();
    history.apply(m1, { data: { k: "v" } });
    const atomic = new History("v1", "ConfigMap", undefined, atomicData());
    atomic.from(history.live).put(u1, history.live);
    assert.deepEqual(atomic.managers(), ["m1 Apply @1 {f:data:{}}"]);
    assert.equal(
      atomic.apply(m2, { data: { l: "w" } })?.message,
      'Apply failed with 1 conflict: conflict with "m1": .data',
    );
  });

  function atomicData(): StructSchema {
    const map = {
      shape: "map",
      value: { shape: "any", goType: "" },
      atomic: true,
      goType: "",
    } as const;
    const field = (name: string, schema: Schema): Field => ({
      name,
      number: 0,
      schema,
      pointer: false,
      omitEmpty: true,
      omitZero: false,
      required: false,
      enum: undefined,
      default: undefined,
      patch: undefined,
      inlinedBy: [],
    });
    const any = { shape: "any", goType: "" } as const;
    const fields = [
      field("apiVersion", any),
      field("kind", any),
      field("metadata", any),
      field("data", map),
    ];
    return {
      shape: "struct",
      name: "x",
      proto: "",
      goType: "v1.X",
      atomic: false,
      preserveUnknown: false,
      fields,
      byName: new Map(fields.map((f) => [f.name, f])),
    };
  }
});
