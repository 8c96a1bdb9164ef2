import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startTestApi } from "../api.testing.ts";
import {
  conditionOf,
  DEFINITIONS,
  define,
  definition,
  until,
  versionOf,
  WIDGETS,
  widget,
} from "./definition.testing.ts";

const APPLY = { "content-type": "application/apply-patch+yaml" };
const MERGE = { "content-type": "application/merge-patch+json" };
const STRATEGIC = { "content-type": "application/strategic-merge-patch+json" };
const TABLE = { headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } };

describe("CustomResourceDefinition status", () => {
  test("Established and NamesAccepted, with acceptedNames and storedVersions", async () => {
    await using t = await startTestApi();
    const found = await define(t, definition());
    assert.deepEqual(
      found.status.conditions.map(({ type, status, reason, message }: Record<string, string>) => [
        type,
        status,
        reason,
        message,
      ]),
      [
        ["NamesAccepted", "True", "NoConflicts", "no conflicts found"],
        ["Established", "True", "InitialNamesAccepted", "the initial names have been accepted"],
      ],
    );
    assert.deepEqual(found.status.acceptedNames, {
      plural: "widgets",
      singular: "widget",
      shortNames: ["wd"],
      kind: "Widget",
      listKind: "WidgetList",
    });
    assert.deepEqual(found.status.storedVersions, ["v1"]);
  });

  test("NamesAccepted is False while another definition has the kind; it gets the name later", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    const gadgets = definition({
      names: { plural: "gadgets", singular: "gadget", shortNames: [] },
    });
    const found = await define(t, gadgets);
    assert.equal(conditionOf(found, "NamesAccepted"), "False ListKindConflict");
    assert.equal(conditionOf(found, "Established"), "False NotAccepted");
    assert.equal((await t.ask("GET", WIDGETS.replace("widgets", "gadgets"))).code, 404);
    await t.want(200, "DELETE", `${DEFINITIONS}/widgets.example.com`);
    await until(
      t,
      "gadgets.example.com",
      (now) => conditionOf(now, "Established") === "True InitialNamesAccepted",
    );
    await t.want(200, "GET", WIDGETS.replace("widgets", "gadgets"));
  });

  test("KubernetesAPIApprovalPolicyConformant in a group of k8s.io", async () => {
    await using t = await startTestApi();
    const body = definition({ group: "example.k8s.io" });
    body.metadata.annotations = { "api-approved.kubernetes.io": "unapproved, experimental" };
    const found = await define(t, body);
    const type = "KubernetesAPIApprovalPolicyConformant";
    assert.equal(conditionOf(found, type), "False UnapprovedAnnotation");
  });
});

describe("APIService of a custom group", () => {
  test("comes with the first definition of a version and goes with the last", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    const url = "/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com";
    const { spec, metadata } = await t.want(200, "GET", url);
    assert.deepEqual([spec.groupPriorityMinimum, spec.versionPriority], [1000, 100]);
    assert.deepEqual(metadata.labels, { "kube-aggregator.kubernetes.io/automanaged": "true" });
    await t.want(200, "DELETE", `${DEFINITIONS}/widgets.example.com`);
    await until(t, "widgets.example.com", (now) => now.code === 404);
    for (let round = 0; round < 100; round++) {
      if ((await t.ask("GET", url)).code === 404) return;
      await new Promise((next) => setImmediate(next));
    }
    assert.fail("the APIService is still there");
  });
});

describe("deleting a CustomResourceDefinition", () => {
  test("Terminating deletes all objects first, refuses creates and ends with 404", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    await t.want(201, "POST", WIDGETS, { body: widget("a") });
    const held = widget("b");
    held.metadata.finalizers = ["example.com/hold"];
    await t.want(201, "POST", WIDGETS, { body: held });
    const deleted = await t.want(200, "DELETE", `${DEFINITIONS}/widgets.example.com`);
    assert.deepEqual(deleted.metadata.finalizers, ["customresourcecleanup.apiextensions.k8s.io"]);
    assert.equal(conditionOf(deleted, "Terminating"), "True InstanceDeletionPending");
    await until(
      t,
      "widgets.example.com",
      (now) => conditionOf(now, "Terminating") === "True InstanceDeletionInProgress",
    );
    const { code, body } = await t.ask("POST", WIDGETS, { body: widget("c") });
    assert.equal(code, 403);
    assert.match(
      body.message,
      /create not allowed while custom resource definition is terminating/,
    );
    const left = await t.want(200, "GET", WIDGETS);
    assert.deepEqual(
      left.items.map((item: { metadata: { name: string } }) => item.metadata.name),
      ["b"],
    );
    const patch = { headers: MERGE, body: { metadata: { finalizers: null } } };
    await t.want(200, "PATCH", `${WIDGETS}/b`, patch);
    await until(t, "widgets.example.com", (now) => now.code === 404);
    assert.equal((await t.ask("GET", WIDGETS)).code, 404);
  });
});

describe("custom resources: writes", () => {
  const refused = [
    {
      name: "a value out of range",
      spec: { size: 400 },
      message:
        "spec.size: Invalid value: 400: spec.size in body should be less than or equal to 10",
    },
    {
      name: "an enum",
      spec: { size: 1, color: "green" },
      message: 'spec.color: Unsupported value: "green": supported values: "red", "blue"',
    },
    { name: "a required field", spec: {}, message: "spec.size: Required value" },
    {
      name: "a wrong type",
      spec: { size: "x" },
      message:
        'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
    },
    {
      name: "a duplicate in a set",
      spec: { size: 1, tags: ["a", "a"] },
      message: 'spec.tags[1]: Duplicate value: "a"',
    },
    {
      name: "a duplicate key in a list map",
      spec: { size: 1, parts: [{ id: "a" }, { id: "a" }] },
      message: 'spec.parts[1]: Duplicate value: {"id":"a"}',
    },
  ];
  test.each(refused)("422 for $name", async ({ spec, message }) => {
    await using t = await startTestApi();
    await define(t, definition());
    const { code, body } = await t.ask("POST", WIDGETS, { body: widget("a", spec) });
    assert.deepEqual([code, body.message], [422, `Widget.example.com "a" is invalid: ${message}`]);
  });

  const kept = [
    { name: "defaults", spec: { size: 1 }, want: { size: 1, color: "red" } },
    { name: "pruning", spec: { size: 1, x: 1 }, want: { size: 1, color: "red" } },
    {
      name: "empty lists, null in a nullable field and free JSON",
      spec: { size: 1, tags: [], note: null, free: { a: [{ b: null }] }, port: "http" },
      want: {
        size: 1,
        tags: [],
        note: null,
        free: { a: [{ b: null }] },
        port: "http",
        color: "red",
      },
    },
    {
      name: "null in a field with a default",
      spec: { size: 1, color: null, parts: [{ id: "a" }] },
      want: { size: 1, color: "red", parts: [{ id: "a", n: 3 }] },
    },
  ];
  test.each(kept)("create keeps $name", async ({ spec, want }) => {
    await using t = await startTestApi();
    await define(t, definition());
    const made = await t.want(201, "POST", WIDGETS, { body: widget("a", spec) });
    assert.deepEqual(made.spec, want);
    assert.deepEqual((await t.want(200, "GET", `${WIDGETS}/a`)).spec, want);
  });

  test("field validation: Strict refuses unknown fields, Warn names them", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    const body = widget("a", { size: 1, x: 1, parts: [{ id: "a", y: 1 }] });
    const strict = await t.ask("POST", `${WIDGETS}?fieldValidation=Strict`, { body });
    assert.equal(strict.code, 400);
    assert.match(
      strict.body.message,
      /strict decoding error: unknown field "spec.parts\[0\].y", unknown field "spec.x"$/,
    );
    const warned = await t.ask("POST", `${WIDGETS}?fieldValidation=Warn`, { body });
    assert.equal(warned.code, 201);
    assert.deepEqual(warned.warnings, [
      'unknown field "spec.parts[0].y"',
      'unknown field "spec.x"',
    ]);
  });

  test("strategic merge patch is refused with 415, merge patch changes and counts the generation", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    await t.want(201, "POST", WIDGETS, { body: widget("a") });
    const patch = { spec: { size: 2 } };
    await t.want(415, "PATCH", `${WIDGETS}/a`, { headers: STRATEGIC, body: patch });
    const next = await t.want(200, "PATCH", `${WIDGETS}/a`, { headers: MERGE, body: patch });
    assert.deepEqual([next.spec.size, next.metadata.generation], [2, 2]);
  });

  test("server-side apply owns items of list maps by their keys", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    const apply = (manager: string, spec: object) =>
      t.want(manager === "one" ? 201 : 200, "PATCH", `${WIDGETS}/a?fieldManager=${manager}`, {
        headers: APPLY,
        body: widget("a", spec),
      });
    await apply("one", { size: 1, parts: [{ id: "a" }] });
    const both = await apply("two", { size: 1, parts: [{ id: "b", n: 5 }] });
    assert.deepEqual(both.spec.parts, [
      { id: "a", n: 3 },
      { id: "b", n: 5 },
    ]);
    const mine = both.metadata.managedFields.find(
      (one: { manager: string }) => one.manager === "two",
    );
    assert.deepEqual(mine.fieldsV1, {
      "f:spec": { "f:parts": { 'k:{"id":"b"}': { ".": {}, "f:id": {}, "f:n": {} } }, "f:size": {} },
    });
    const { code, body } = await t.ask("PATCH", `${WIDGETS}/a?fieldManager=two`, {
      headers: APPLY,
      body: widget("a", { size: 1, nope: 1 }),
    });
    assert.equal(code, 500);
    assert.match(body.message, /\.spec\.nope: field not declared in schema/);
  });

  test("a null where none is allowed: create drops it, server-side apply is refused with 422", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    const made = await t.want(201, "POST", WIDGETS, {
      body: widget("a", { size: 1, parts: null }),
    });
    assert.equal("parts" in made.spec, false);
    const refused = await t.want(422, "PATCH", `${WIDGETS}/b?fieldManager=one`, {
      headers: APPLY,
      body: widget("b", { size: 1, parts: null }),
    });
    assert.match(refused.message, /spec\.parts in body must be of type array: "null"/);
  });
});

describe("custom resources: versions and subresources", () => {
  test("two versions with conversion None; a third is not served", async () => {
    await using t = await startTestApi();
    const versions = [
      versionOf("v1", { storage: false }),
      versionOf("v2"),
      versionOf("v3", { storage: false, served: false }),
    ];
    await define(t, definition({ versions }));
    await t.want(201, "POST", WIDGETS, { body: widget("a") });
    const inV2 = await t.want(200, "GET", `${WIDGETS.replace("v1", "v2")}/a`);
    assert.equal(inV2.apiVersion, "example.com/v2");
    assert.equal((await t.ask("GET", WIDGETS.replace("v1", "v3"))).code, 404);
  });

  test("status: a write to the object keeps it, a write to it keeps the rest and the generation", async () => {
    await using t = await startTestApi();
    await define(t, definition({ versions: [versionOf("v1", { subresources: { status: {} } })] }));
    const status = { phase: "Done" };
    const made = await t.want(201, "POST", WIDGETS, { body: widget("a", { size: 1 }, { status }) });
    assert.equal(made.status, undefined);
    const body = { status, spec: { size: 9 } };
    const done = await t.want(200, "PATCH", `${WIDGETS}/a/status`, { headers: MERGE, body });
    assert.deepEqual([done.status, done.spec.size, done.metadata.generation], [status, 1, 1]);
    const { code } = await t.ask("PATCH", `${WIDGETS}/a/status`, {
      headers: MERGE,
      body: { status: { phase: 1 } },
    });
    assert.equal(code, 422);
  });

  test("a changed definition gives stored objects its new defaults and prunes what it lost", async () => {
    await using t = await startTestApi();
    await define(t, definition());
    await t.want(201, "POST", WIDGETS, { body: widget("a", { size: 1, opts: { a: "b" } }) });
    const spec = {
      type: "object",
      properties: { size: { type: "integer" }, shape: { type: "string", default: "round" } },
    };
    const body = await t.want(200, "GET", `${DEFINITIONS}/widgets.example.com`);
    body.spec.versions = [versionOf("v1", { spec })];
    await t.want(200, "PUT", `${DEFINITIONS}/widgets.example.com`, { body });
    for (let round = 0; round < 200; round++) {
      const found = await t.want(200, "GET", `${WIDGETS}/a`);
      if (found.spec.shape !== undefined) {
        assert.deepEqual(found.spec, { size: 1, shape: "round" });
        return;
      }
    }
    assert.fail("the new schema is not in force");
  });

  test("additionalPrinterColumns are shown, and selectableFields select", async () => {
    await using t = await startTestApi();
    const version = versionOf("v1", {
      additionalPrinterColumns: [
        { name: "Size", type: "integer", jsonPath: ".spec.size" },
        { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp", priority: 1 },
      ],
      selectableFields: [{ jsonPath: ".spec.color" }],
    });
    await define(t, definition({ versions: [version] }));
    await t.want(201, "POST", WIDGETS, { body: widget("a") });
    await t.want(201, "POST", WIDGETS, { body: widget("b", { size: 2, color: "blue" }) });
    const table = await t.want(200, "GET", `${WIDGETS}?fieldSelector=spec.color=blue`, TABLE);
    assert.deepEqual(
      table.columnDefinitions.map(({ name }: { name: string }) => name),
      ["Name", "Size", "Age"],
    );
    assert.deepEqual(
      table.rows.map(({ cells }: { cells: unknown[] }) => cells),
      [["b", 2, "0s"]],
    );
    assert.equal((await t.ask("GET", `${WIDGETS}?fieldSelector=spec.size=1`)).code, 400);
  });
});
