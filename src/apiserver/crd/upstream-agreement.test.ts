/** What comparing with kube-apiserver on generated schemas has found (bench/custom-resources/agreement). */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startTestApi, type TestApi } from "../api.testing.ts";
import {
  DEFINITIONS,
  define,
  definition,
  versionOf,
  WIDGETS,
  widget,
} from "./definition.testing.ts";

const MERGE = { "content-type": "application/merge-patch+json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };

const spec = {
  type: "object",
  properties: {
    a: { type: "string" },
    b: { type: "string" },
    pod: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      properties: { x: { type: "string" } },
    },
    list: {
      type: "array",
      items: { type: "object", required: ["key"], properties: { key: { type: "string" } } },
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["key"],
    },
  },
  anyOf: [{ required: ["a"] }, { required: ["b"] }],
};

async function startWith(schema: object): Promise<TestApi> {
  const api = await startTestApi();
  const versions = [versionOf("v1", { spec: schema, subresources: { status: {} } })];
  await define(api, definition({ versions }));
  return api;
}

const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "x", bad: 1 } };

describe("custom resources answer as kube-apiserver", () => {
  test("create: a value that fits no schema of anyOf is a fault of the field <nil>", async () => {
    await using api = await startWith(spec);
    const { code, body } = await api.ask("POST", WIDGETS, { body: widget("a", {}) });
    assert.equal(code, 422);
    const [cause] = body.details.causes;
    assert.equal(cause.field, "<nil>");
    assert.match(cause.message, /"spec" must validate at least one schema \(anyOf\)/);
  });

  test("create: an item of a list of type map that is no object is a fault of its own", async () => {
    await using api = await startWith(spec);
    const { body } = await api.ask("POST", WIDGETS, {
      body: widget("a", { a: "x", list: [{ key: "k" }, 7] }),
    });
    const causes = body.details.causes as { field: string; message: string }[];
    const wanted = "Invalid value: 7: must be an object for an array of list-type map";
    assert.ok(causes.some(({ field, message }) => field === "spec.list[1]" && message === wanted));
  });

  test("create: two null items of a list of type map are duplicates without a key", async () => {
    await using api = await startWith(spec);
    const { body } = await api.ask("POST", WIDGETS, {
      body: widget("a", { a: "x", list: [null, null] }),
    });
    assert.match(JSON.stringify(body), /Duplicate value: \{\}/);
  });

  test("fieldValidation=Strict: unknown fields of embedded metadata are named last", async () => {
    await using api = await startWith(spec);
    const sent = widget("a", { a: "x", pod, unknown: 1 });
    const { body } = await api.ask("POST", `${WIDGETS}?fieldValidation=Strict`, { body: sent });
    assert.match(body.message, /"spec.unknown", unknown field "spec.pod.metadata.bad"$/);
  });

  test("merge patch: the text of a refused custom resource has sorted keys", async () => {
    await using api = await startWith(spec);
    await api.ask("POST", WIDGETS, { body: widget("a", { a: "x" }) });
    const path = `${WIDGETS}/a?fieldValidation=Strict`;
    const { body } = await api.ask("PATCH", path, {
      body: { spec: { unknown: 1 } },
      headers: MERGE,
    });
    assert.match(body.message, /creationTimestamp.*generation.*"name\\*".*uid/);
  });

  test("server-side apply: metadata of an embedded resource has the fields of ObjectMeta", async () => {
    await using api = await startWith(spec);
    const path = `${WIDGETS}/a?fieldManager=one`;
    const { code, body } = await api.ask("PATCH", path, {
      body: widget("a", { a: "x", pod }),
      headers: APPLY,
    });
    assert.equal(code, 500);
    assert.match(body.message, /\.spec\.pod\.metadata\.bad: field not declared in schema$/);
  });

  test("CEL: a list where a string with a format is declared is invalid data", async () => {
    await using api = await startWith({
      type: "object",
      properties: { net: { type: "string", format: "cidr" } },
      "x-kubernetes-validations": [{ rule: "self.net != 'b'" }],
    });
    const sent = widget("a", { net: [] });
    const { code, body } = await api.ask("POST", WIDGETS, { body: sent });
    assert.equal(code, 422);
    assert.match(body.message, /invalid data, expected string, got \[\]interface \{\} evaluating/);
  });

  test("managedFields: an object with a status of a wrong type, which is not kept, has none", async () => {
    await using api = await startWith(spec);
    const sent = { ...widget("a", { a: "x" }), status: { phase: 1 } };
    const { code, body } = await api.ask("POST", WIDGETS, { body: sent });
    assert.equal(code, 201);
    assert.equal(body.status, undefined);
    assert.equal(body.metadata.managedFields, undefined);
    const { body: right } = await api.ask("POST", WIDGETS, { body: widget("b", { a: "x" }) });
    assert.equal(right.metadata.managedFields.length, 1);
  });
});

describe("defaults of a CustomResourceDefinition answer as kube-apiserver", () => {
  const rows = [
    {
      name: "unknown fields in the metadata of an embedded resource are let pass",
      property: { ...spec.properties.pod, default: pod },
      want: 201,
    },
    {
      name: "an int-or-string is not checked",
      property: { "x-kubernetes-int-or-string": true, default: {} },
      want: 201,
    },
    {
      name: "a value with unknown fields is shown with sorted keys",
      property: { type: "object", properties: { b: { type: "integer" } }, default: { c: 1, b: 1 } },
      want: /Invalid value: \{"b":1,"c":1\}: must not have unknown fields/,
    },
  ] as const;
  test.each(rows)("$name", async ({ property, want }) => {
    await using api = await startTestApi();
    const versions = [versionOf("v1", { spec: { type: "object", properties: { p: property } } })];
    const { code, body } = await api.ask("POST", DEFINITIONS, { body: definition({ versions }) });
    if (typeof want === "number") assert.equal(code, want, JSON.stringify(body));
    else assert.match(body.message, want);
  });

  test("unknown fields in the metadata of an embedded resource are not stored in a default", async () => {
    await using api = await startTestApi();
    const property = { ...spec.properties.pod, default: pod };
    const list = { type: "array", items: { type: "object", properties: { p: property } } };
    const properties = { p: property, list };
    const versions = [versionOf("v1", { spec: { type: "object", properties } })];
    const { body } = await api.ask("POST", DEFINITIONS, { body: definition({ versions }) });
    const stored = body.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties;
    const { bad: _, ...known } = pod.metadata;
    assert.deepEqual(stored.p.default, { ...pod, metadata: known });
    assert.deepEqual(stored.list.items.properties.p.default, { ...pod, metadata: known });
  });
});
