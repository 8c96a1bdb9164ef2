import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { AdmissionUse } from "#api/expressions.ts";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { fieldErrorSteps } from "#api/validation/field-errors.ts";
import { Path } from "#api/validation/path.ts";
import { finish } from "#lib/async/steps.ts";
import { expressionCompiler as compiler } from "./compiler.ts";

const USE: AdmissionUse = {
  role: "validation",
  hasParams: false,
  hasAuthorizer: true,
  variables: [{ name: "tier", expression: "'gold'" }],
  stored: false,
};

describe("expressions of admission policies", () => {
  const cases: { text: string; use?: Partial<AdmissionUse>; detail?: RegExp }[] = [
    { text: "object.spec.replicas <= 5" },
    { text: "authorizer.requestResource.check('update').allowed()" },
    { text: "variables.tier == 'gold'" },
    { text: "quantity('1Gi').isGreaterThan(quantity('1Mi'))" },
    { text: "object.?spec.?paused.orValue(false) == true" },
    { text: "foo == 1", detail: /undeclared reference to 'foo' \(in container ''\)/ },
    { text: "request.nope == 1", detail: /1:8: undefined field 'nope'/ },
    {
      text: "variables.tier == 1",
      detail: /no matching overload for '_==_' applied to '\(string, int\)'/,
    },
    { text: "variables.other", detail: /undefined field 'other'/ },
    {
      text: "variables.tier",
      use: { variables: [] },
      detail: /undeclared reference to 'variables'/,
    },
    { text: "params.x", detail: /undeclared reference to 'params'/ },
    { text: "object.spec", detail: /^must evaluate to bool but got dyn$/ },
    { text: "'a'.matches('(')", detail: /1:13: invalid matches argument/ },
    { text: "[1, 'a'].size() == 2", detail: /expected type 'int' but found 'string'/ },
    {
      text: "1",
      use: { role: "auditAnnotation" },
      detail: /^must evaluate to one of \[string null_type\] but got int$/,
    },
    { text: "1", use: { role: "message" }, detail: /^must evaluate to string but got int$/ },
    { text: "1", use: { role: "variable" } },
    { text: "Object{spec: Object.spec{replicas: 1}}", use: { role: "applyConfiguration" } },
    {
      text: "1",
      use: { role: "applyConfiguration" },
      detail: /^must evaluate to Object but got int$/,
    },
    {
      text: "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c'), value: 1}]",
      use: { role: "jsonPatch" },
    },
    {
      text: "['a']",
      use: { role: "jsonPatch" },
      detail: /^must evaluate to list\(JSONPatch\) but got list\(string\)$/,
    },
  ];
  for (const { text, use, detail } of cases) {
    test(text, () => {
      const fault = compiler.admission(text, { ...USE, ...use });
      if (detail === undefined) assert.equal(fault, undefined);
      else assert.match(fault?.detail ?? "", detail);
    });
  }
});

describe("CEL: x-kubernetes-validations rules of a schema", () => {
  const spec = (properties: Record<string, JSONSchemaProps>, rule: object): JSONSchemaProps => ({
    type: "object",
    properties: {
      spec: { type: "object", properties, "x-kubernetes-validations": [{ rule: "true", ...rule }] },
    },
  });
  const list: JSONSchemaProps = { type: "array", items: { type: "string" } };
  const cases: { name: string; schema: JSONSchemaProps; faults: RegExp[] }[] = [
    {
      name: "a rule on a typed field compiles",
      schema: spec({ n: { type: "integer" } }, { rule: "self.n > 0" }),
      faults: [],
    },
    {
      name: "a rule that is no bool is refused",
      schema: spec({}, { rule: "1" }),
      faults: [/cel expression must evaluate to a bool$/],
    },
    {
      name: "a rule on an undefined field is refused",
      schema: spec({}, { rule: "self.x == 1" }),
      faults: [/undefined field 'x'/],
    },
    {
      name: "a transition rule with oldSelf compiles",
      schema: spec({ n: { type: "integer" } }, { rule: "self.n >= oldSelf.n" }),
      faults: [],
    },
    {
      name: "a messageExpression that is no string is refused",
      schema: spec({}, { messageExpression: "1" }),
      faults: [/messageExpression must evaluate to a string$/],
    },
    {
      name: "optionalOldSelf without oldSelf is refused",
      schema: spec({}, { optionalOldSelf: true }),
      faults: [/may not be set if oldSelf is not used in rule/],
    },
    {
      name: "escaped field names (__namespace__, __dash__) compile",
      schema: spec(
        { namespace: { type: "string" }, "a-b": { type: "string" } },
        { rule: "self.__namespace__ == self.a__dash__b" },
      ),
      faults: [],
    },
    {
      name: "metadata.name of the resource can be used",
      schema: {
        type: "object",
        "x-kubernetes-validations": [{ rule: "self.metadata.name.size() < 9" }],
      },
      faults: [],
    },
    {
      name: "a rule whose estimated cost exceeds the budget is refused",
      schema: spec({ a: list, b: list }, { rule: "self.a.all(x, self.b.all(y, x != y))" }),
      faults: [
        /^Forbidden: estimated rule cost exceeds budget by factor of more than 100x/,
        /^Forbidden: contributed to estimated/,
        /^Forbidden: x-kubernetes-validations estimated rule cost total/,
      ],
    },
    {
      name: "limits make it cheap",
      schema: spec(
        { a: { ...list, maxItems: 10, items: { type: "string", maxLength: 10 } } },
        { rule: "self.a.all(x, self.a.all(y, x != y))" },
      ),
      faults: [],
    },
  ];
  for (const { name, schema, faults } of cases) {
    test(name, () => {
      const stored = {
        rules: new Set<string>(),
        messageExpressions: new Set<string>(),
        unchanged: false,
      };
      const errors = finish(fieldErrorSteps(compiler.schema(schema, stored, Path.of("schema"))));
      assert.equal(errors.length, faults.length, JSON.stringify(errors));
      for (const [i, fault] of faults.entries()) {
        const { type, detail } = errors[i]!;
        assert.match(type === "FieldValueForbidden" ? `Forbidden: ${detail}` : detail, fault);
      }
    });
  }
});

describe("selectors of devices", () => {
  const cases: { text: string; detail?: RegExp }[] = [
    {
      text: "device.driver == 'gpu.example.com' && device.capacity['a'].memory.compareTo(quantity('1Gi')) >= 0",
    },
    { text: "cel.bind(a, device.attributes['x'], a.model == 'm')" },
    { text: "device.attributes['x'].flag" },
    { text: "device.allowMultipleAllocations" },
    { text: "1", detail: /^must evaluate to bool or the unknown type, not int$/ },
    { text: "device.nope", detail: /undefined field 'nope'/ },
    {
      text: "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, a != b && c != d))))",
      detail: /^too complex, exceeds cost limit$/,
    },
  ];
  for (const { text, detail } of cases) {
    test(text, () => {
      const [fault] = compiler.device(text, false);
      if (detail === undefined) assert.equal(fault, undefined);
      else assert.match(fault?.detail ?? "", detail);
    });
  }
});
