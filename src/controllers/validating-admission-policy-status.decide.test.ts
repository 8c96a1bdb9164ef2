import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { validatingAdmissionPolicyKind } from "#api/kinds/admissionregistration/v1/validating-admission-policy.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { validatingAdmissionPolicyStatus } from "./validating-admission-policy-status.ts";

const rows = [
  { name: "a new policy gets a status", generation: 1, seen: undefined, want: true },
  {
    name: "a policy whose generation was observed is left alone",
    generation: 1,
    seen: 1,
    want: false,
  },
  { name: "a policy that has changed gets a new status", generation: 3, seen: 2, want: true },
];

describe("observedGeneration of a ValidatingAdmissionPolicy", () => {
  for (const { name, generation, seen, want } of rows) {
    test(name, () => {
      const policy = build(validatingAdmissionPolicyKind, {
        metadata: { name: "p", generation },
        status: seen === undefined ? {} : { observedGeneration: seen },
      });
      const outcome = validatingAdmissionPolicyStatus.decide({ policy, published: [] }, 0);
      const writes = want ? ["update ValidatingAdmissionPolicy p/status"] : [];
      assert.deepEqual(describeOutcome(outcome), { writes });
      const { status } = written(outcome, validatingAdmissionPolicyKind) ?? {};
      assert.equal(status?.observedGeneration, want ? generation : undefined);
    });
  }
  test("a policy that is gone needs nothing", () =>
    assert.deepEqual(validatingAdmissionPolicyStatus.decide(undefined, 0), {}));
});

test("expressionWarnings: a custom kind is checked by its published schema", () => {
  const policy = build(validatingAdmissionPolicyKind, {
    metadata: { name: "p", generation: 1 },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ["example.com"],
            apiVersions: ["v1"],
            operations: ["*"],
            resources: ["widgets"],
          },
        ],
      },
      validations: [
        { expression: "object.spec.size < 3 && object.metadata.name != ''" },
        { expression: "object.spec.size < 'large'" },
        { expression: "object.spec.colour == 'red'" },
      ],
    },
  });
  const size = { type: "integer" };
  const spec = { type: "object", properties: { size } };
  const schema = {
    type: "object",
    properties: { metadata: { allOf: [{ $ref: "#/components/schemas/ObjectMeta" }] }, spec },
  };
  const widgets = {
    group: "example.com",
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    schema,
  };
  const outcome = validatingAdmissionPolicyStatus.decide({ policy, published: [widgets] }, 0);
  const { status } = written(outcome, validatingAdmissionPolicyKind) ?? {};
  const warnings = status?.typeChecking?.expressionWarnings ?? [];
  assert.deepEqual(
    warnings.map(({ fieldRef, warning }) => [fieldRef, warning.split("\n")[0]]),
    [
      [
        "spec.validations[1].expression",
        "example.com/v1, Kind=Widget: ERROR: <input>:1:18: found no matching overload for '_<_' applied to '(int, string)'",
      ],
      [
        "spec.validations[2].expression",
        "example.com/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'colour'",
      ],
    ],
  );
});
