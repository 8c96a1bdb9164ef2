/** Defaults in a definition are checked with the CEL rules of its schema, as values that are created. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { startTestApi } from "../api.testing.ts";
import { DEFINITIONS, definition, versionOf } from "./definition.testing.ts";

const AT = "spec.validation.openAPIV3Schema.properties[spec]";
const rule = (text: string, more: object = {}): object => ({
  "x-kubernetes-validations": [{ rule: text, ...more }],
});

describe("CustomResourceDefinition: defaults and x-kubernetes-validations", () => {
  const rows: readonly { name: string; field: object; faults: readonly string[] }[] = [
    { name: "a default that keeps its rule", field: withDefault(5, "self < 10"), faults: [] },
    {
      name: "a default that breaks its rule",
      field: withDefault(50, "self < 10"),
      faults: [`${AT}.properties[f].default Invalid value: 50: failed rule: self < 10`],
    },
    {
      name: "message, reason and messageExpression of the rule",
      field: {
        type: "integer",
        default: 50,
        ...rule("self < 10", {
          messageExpression: "'is ' + string(self)",
          reason: "FieldValueForbidden",
        }),
      },
      faults: [`${AT}.properties[f].default Forbidden: is 50`],
    },
    {
      name: "a rule below the default",
      field: {
        type: "object",
        default: { n: 11 },
        properties: { n: { type: "integer", ...rule("self < 10") } },
      },
      faults: [`${AT}.properties[f].default.n Invalid value: 11: failed rule: self < 10`],
    },
    {
      name: "a transition rule is run with the default as oldSelf",
      field: withDefault(1, "self == oldSelf"),
      faults: [],
    },
    {
      name: "a transition rule that the default itself breaks",
      field: withDefault(1, "self > oldSelf"),
      faults: [`${AT}.properties[f].default Invalid value: 1: failed rule: self > oldSelf`],
    },
    {
      name: "optionalOldSelf: the default must be allowed on create",
      field: {
        type: "integer",
        default: 1,
        ...rule("oldSelf.hasValue() || self == 2", { optionalOldSelf: true }),
      },
      faults: [
        `${AT}.properties[f].default Invalid value: 1: failed rule: oldSelf.hasValue() || self == 2`,
      ],
    },
    {
      name: "a default of the wrong type is not given to rules",
      field: withDefault("x", "self < 10"),
      faults: [
        `${AT}.properties[f].default Invalid value: "string":  in body must be of type integer: "string"`,
      ],
    },
  ];

  test.each(rows)("$name", async ({ field, faults }) => {
    await using t = await startTestApi();
    const spec = { type: "object", properties: { f: field } };
    const body = definition({ versions: [versionOf("v1", { spec })] });
    const answer = await t.ask("POST", DEFINITIONS, { body });
    const causes: { field: string; message: string }[] = answer.body.details?.causes ?? [];
    assert.deepEqual(
      causes.map((cause) => `${cause.field} ${cause.message}`),
      faults,
    );
    assert.equal(answer.code, faults.length === 0 ? 201 : 422);
  });

  test("the default in metadata must result in valid metadata", async () => {
    await using t = await startTestApi();
    const version = versionOf("v1");
    version.schema.openAPIV3Schema.properties.metadata = {
      type: "object",
      properties: { generateName: { type: "string", default: "Not/Valid" } },
    };
    const status = await t.want(422, "POST", DEFINITIONS, {
      body: definition({ versions: [version] }),
    });
    assert.match(
      status.details.causes[0].message,
      /^Invalid value: "Not\/Valid": must result in valid metadata: metadata\.generateName: Invalid value/,
    );
  });
});

function withDefault(value: unknown, text: string): object {
  return { type: "integer", default: value, ...rule(text) };
}
