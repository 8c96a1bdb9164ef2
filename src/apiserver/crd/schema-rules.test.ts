/** Rules in schemas (`x-kubernetes-validations`), and what updates need not put right (ratcheting). */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startTestApi } from "../api.testing.ts";
import {
  DEFINITIONS,
  define,
  definition,
  versionOf,
  WIDGETS,
  widget,
} from "./definition.testing.ts";

const MERGE = { "content-type": "application/merge-patch+json" };
const TOO_BIG = "self.b > 150 ? 'b far too big' : 'b too big'";

const spec = {
  type: "object",
  properties: {
    a: { type: "integer" },
    b: { type: "integer" },
    fixed: { type: "string", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] },
    once: {
      type: "string",
      "x-kubernetes-validations": [
        { rule: "!oldSelf.hasValue() || self != 'x'", optionalOldSelf: true, message: "no x" },
      ],
    },
    names: {
      type: "array",
      maxItems: 10,
      items: {
        type: "string",
        maxLength: 20,
        "x-kubernetes-validations": [{ rule: "self.startsWith('n')" }],
      },
    },
  },
  "x-kubernetes-validations": [
    { rule: "!has(self.a) || self.a < self.b", message: "a must be less than b" },
    {
      rule: "!has(self.b) || self.b < 100",
      messageExpression: TOO_BIG,
      reason: "FieldValueForbidden",
      fieldPath: ".b",
    },
  ],
};

describe("CustomResourceDefinition: x-kubernetes-validations", () => {
  const created = [
    {
      name: "message",
      spec: { a: 3, b: 2 },
      message: "spec: Invalid value: a must be less than b",
    },
    {
      name: "messageExpression, reason and fieldPath",
      spec: { a: 1, b: 200 },
      message: "spec.b: Forbidden: b far too big",
    },
    {
      name: "an error of the evaluation",
      spec: { a: 1 },
      message:
        'spec: Invalid value: "object": no such key: b evaluating rule: a must be less than b',
    },
    {
      name: "a rule of a list item",
      spec: { names: ["na", "x"] },
      message: "spec.names[1]: Invalid value: \"x\": failed rule: self.startsWith('n')",
    },
    {
      name: "rules are not run on objects of the wrong type",
      spec: { a: "x" },
      message:
        '[spec.a: Invalid value: "string": spec.a in body must be of type integer: "string", <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]',
    },
  ];
  test.each(created)("create: $name", async ({ spec: given, message }) => {
    await using t = await startTestApi();
    await define(t, definition({ versions: [versionOf("v1", { spec })] }));
    const { code, body } = await t.ask("POST", WIDGETS, { body: widget("a", given) });
    assert.deepEqual([code, body.message], [422, `Widget.example.com "a" is invalid: ${message}`]);
  });

  const updated = [
    { name: "a transition rule without an old value is not run", patch: { fixed: "x" }, code: 200 },
    { name: "a transition rule refuses a change", patch: { once: "x" }, code: 422 },
    { name: "optionalOldSelf sees the old value", patch: { once: "y" }, code: 200 },
  ];
  test.each(updated)("update: $name", async ({ patch, code }) => {
    await using t = await startTestApi();
    await define(t, definition({ versions: [versionOf("v1", { spec })] }));
    await t.want(201, "POST", WIDGETS, { body: widget("a", { once: "x" }) });
    await t.want(200, "PATCH", `${WIDGETS}/a`, { headers: MERGE, body: { spec: { once: "z" } } });
    await t.want(code, "PATCH", `${WIDGETS}/a`, { headers: MERGE, body: { spec: patch } });
  });
});

describe("ratcheting validation of custom resources", () => {
  test("values that did not change are accepted after the schema became stricter", async () => {
    await using t = await startTestApi();
    const loose = {
      type: "object",
      properties: { a: { type: "integer" }, b: { type: "integer" } },
    };
    await define(t, definition({ versions: [versionOf("v1", { spec: loose })] }));
    await t.want(201, "POST", WIDGETS, { body: widget("a", { a: 50, b: 1 }) });
    const a = {
      type: "integer",
      maximum: 10,
      "x-kubernetes-validations": [{ rule: "self != 50" }],
    };
    const stricter = { ...loose, properties: { ...loose.properties, a } };
    const body = await t.want(200, "GET", `${DEFINITIONS}/widgets.example.com`);
    body.spec.versions = [versionOf("v1", { spec: stricter })];
    await t.want(200, "PUT", `${DEFINITIONS}/widgets.example.com`, { body });
    for (let round = 0; round < 20; round++) await new Promise((next) => setImmediate(next));
    assert.equal((await t.ask("POST", WIDGETS, { body: widget("b", { a: 50 }) })).code, 422);
    const patch = { headers: MERGE, body: { spec: { b: 2 } } };
    await t.want(200, "PATCH", `${WIDGETS}/a`, patch);
    const worse = { headers: MERGE, body: { spec: { a: 51 } } };
    await t.want(422, "PATCH", `${WIDGETS}/a`, worse);
  });
});
