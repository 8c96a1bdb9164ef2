/** Admission policies and their bindings. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { ExpressionCompiler } from "#api/expressions.ts";
import type { ValidatingAdmissionPolicy } from "#api/generated/admissionregistration.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import {
  mutatingAdmissionPolicyV1beta1Kind as mutating,
  mutatingAdmissionPolicyKind,
} from "./mutating-admission-policy.ts";
import {
  validatingAdmissionPolicyBindingKind as binding,
  mutatingAdmissionPolicyBindingV1alpha1Kind,
  mutatingAdmissionPolicyBindingV1beta1Kind as mutatingBinding,
} from "./policy-bindings.ts";
import { validatingAdmissionPolicyKind as validating } from "./validating-admission-policy.ts";

const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const matchConstraints = { resourceRules: [rule] };
const made = { matchConstraints, validations: [{ expression: "true" }] };
const policy = (spec: object) => ({ object: { spec: { ...made, ...spec } } });

describe("ValidatingAdmissionPolicy: validating policies", () => {
  const rows = [
    {
      name: "nothing to check",
      write: { object: { spec: { failurePolicy: "Try" } } },
      faults: [
        'spec.failurePolicy: Unsupported value: "Try": supported values: "Fail", "Ignore"',
        "spec.matchConstraints: Required value",
        "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
        "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
      ],
    },
    {
      name: "no rule for what is checked",
      write: policy({ matchConstraints: { matchPolicy: "Near" } }),
      faults: [
        'spec.matchConstraints.matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact"',
        "spec.matchConstraints.resourceRules: Required value",
      ],
    },
    {
      name: "a name twice in a rule",
      write: policy({
        matchConstraints: { resourceRules: [{ ...rule, resourceNames: ["a", "a", "b/c"] }] },
      }),
      faults: [
        'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
        "spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid value: \"b/c\": may not contain '/'",
      ],
    },
    {
      name: "parameters of no kind",
      write: policy({ paramKind: {} }),
      faults: ["spec.paramKind.apiVersion: Required value", "spec.paramKind.kind: Required value"],
    },
    {
      name: "parameters of two groups",
      write: policy({ paramKind: { apiVersion: "a/b/c", kind: "K" } }),
      faults: [
        'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      ],
    },
    {
      name: "parameters without version",
      write: policy({ paramKind: { apiVersion: "a/", kind: "K" } }),
      faults: ['spec.paramKind.apiVersion: Invalid value: "a/": version must be specified'],
    },
    {
      name: "variables that cannot be named",
      write: policy({
        variables: [
          { name: " ", expression: "1" },
          { name: "in", expression: "1" },
          { name: "a-b", expression: " " },
        ],
      }),
      faults: [
        "spec.variables[0].name: Required value: name is not specified",
        'spec.variables[1].name: Invalid value: "in": must be a valid CEL identifier',
        'spec.variables[2].name: Invalid value: "a-b": must be a valid CEL identifier',
        "spec.variables[2].expression: Required value: expression is not specified",
      ],
    },
    {
      name: "validations that say nothing",
      write: policy({
        validations: [
          { expression: " ", message: "a\nb", messageExpression: " ", reason: "Because" },
          { expression: "true", message: "  " },
        ],
      }),
      faults: [
        "spec.validations[0].expression: Required value: expression is not specified",
        'spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
        'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
        'spec.validations[0].reason: Unsupported value: "Because": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
        'spec.validations[1].message: Invalid value: "  ": must be non-empty if specified',
      ],
    },
    {
      name: "audit annotations that cannot be written",
      write: policy({
        auditAnnotations: [
          { key: "k", valueExpression: " " },
          { key: "k", valueExpression: "x".repeat(5 * 1024 + 1) },
        ],
      }),
      faults: [
        "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified",
        "spec.auditAnnotations[1].valueExpression: Required value: must not exceed 5120 bytes in length",
        'spec.auditAnnotations[1].key: Duplicate value: "k"',
      ],
    },
    {
      name: "warnings about nothing",
      write: {
        ...policy({}),
        object: {
          ...policy({}).object,
          status: { typeChecking: { expressionWarnings: [{ fieldRef: "spec[", warning: "" }] } },
        },
        old: policy({}).object,
        subresource: "status",
      },
      faults: [
        "status.typeChecking.expressionWarnings[0].warning: Required value",
        'status.typeChecking.expressionWarnings[0].fieldRef: Invalid value: "spec[": invalid JSONPath: unterminated array',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(validating, write).faults, faults));
  }

  test("defaults and cells", () => {
    const outcome = runKind(validating, policy({ paramKind: { apiVersion: "v1", kind: "K" } }));
    const { spec } = outcome.object as ValidatingAdmissionPolicy;
    assert.equal(spec.failurePolicy, "Fail");
    assert.deepEqual(spec.matchConstraints, {
      namespaceSelector: {},
      objectSelector: {},
      resourceRules: [{ ...rule, scope: "*" }],
      matchPolicy: "Equivalent",
    });
    assert.deepEqual(cellsOf(validating, outcome).slice(1, 3), [1, "v1/K"]);
    assert.equal(cellsOf(validating, runKind(validating, policy({})))[2], "<unset>");
  });
});

describe("ValidatingAdmissionPolicy: expressions go to the compiler", () => {
  interface Asked {
    readonly role: string;
    readonly expression: string;
    readonly stored: boolean;
    readonly variables: number;
  }
  function recordingCompiler(): { readonly asked: Asked[]; readonly compiler: ExpressionCompiler } {
    const asked: Asked[] = [];
    return {
      asked,
      compiler: {
        admission: (expression, { role, stored, variables }) => {
          asked.push({ role, expression, stored, variables: variables.length });
          return expression === "bad"
            ? { type: "invalid", detail: "compilation failed" }
            : undefined;
        },
        schema: () => [],
        device: () => [],
      },
    };
  }

  test("each in its role, knowing the variables before it", () => {
    const { asked, compiler } = recordingCompiler();
    const spec = {
      matchConditions: [{ name: "c", expression: "m" }],
      variables: [
        { name: "v", expression: "v" },
        { name: "w", expression: "w" },
      ],
      validations: [{ expression: "bad", messageExpression: "text" }],
      auditAnnotations: [{ key: "k", valueExpression: "a" }],
    };
    const { faults } = runKind(validating, { ...policy(spec), context: { expressions: compiler } });
    assert.deepEqual(faults, [
      'spec.validations[0].expression: Invalid value: "bad": compilation failed',
    ]);
    assert.deepEqual(asked, [
      { role: "matchCondition", expression: "m", stored: false, variables: 0 },
      { role: "variable", expression: "v", stored: false, variables: 0 },
      { role: "variable", expression: "w", stored: false, variables: 1 },
      { role: "validation", expression: "bad", stored: false, variables: 2 },
      { role: "message", expression: "text", stored: false, variables: 2 },
      { role: "auditAnnotation", expression: "a", stored: false, variables: 2 },
    ]);
  });

  test("an update names the stored expressions, and does not compile unchanged matchConditions again", () => {
    const { asked, compiler } = recordingCompiler();
    const spec = { matchConditions: [{ name: "c", expression: "m" }] };
    runKind(validating, {
      ...policy({ ...spec, validations: [{ expression: "true" }, { expression: "new" }] }),
      old: policy(spec).object,
      context: { expressions: compiler },
    });
    assert.deepEqual(
      asked.map(({ expression, stored }) => [expression, stored]),
      [
        ["true", true],
        ["new", false],
      ],
    );
  });
});

describe("ValidatingAdmissionPolicy: mutating policies", () => {
  const applied = {
    patchType: "ApplyConfiguration",
    applyConfiguration: { expression: "Object{}" },
  };
  const made = { matchConstraints, reinvocationPolicy: "Never", mutations: [applied] };
  const rows = [
    {
      name: "nothing to change",
      spec: { mutations: [], reinvocationPolicy: "" },
      faults: [
        "spec.mutations: Required value: mutations must contain at least one item",
        "spec.reinvocationPolicy: Required value",
      ],
    },
    {
      name: "changes of deletes",
      spec: { matchConstraints: { resourceRules: [{ ...rule, operations: ["DELETE"] }] } },
      faults: [
        'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
      ],
    },
    {
      name: "a change of unknown type",
      spec: { mutations: [{ patchType: "Diff" }, { patchType: "" }] },
      faults: [
        'spec.mutations[0].patchType: Unsupported value: "Diff": supported values: "ApplyConfiguration", "JSONPatch"',
        "spec.mutations[1].patchType: Required value",
      ],
    },
    {
      name: "a change of another type",
      spec: { mutations: [{ ...applied, patchType: "JSONPatch" }] },
      faults: [
        "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
        'spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        runKind(mutating, { object: { spec: { ...made, ...spec } } }).faults,
        faults,
      ));
  }

  test("v1 is stored as v1beta1", () => {
    const { storedAs } = mutatingAdmissionPolicyKind;
    const { object } = runKind(mutatingAdmissionPolicyKind, { object: { spec: made } });
    assert.equal(storedAs?.toStored(object).apiVersion, "admissionregistration.k8s.io/v1beta1");
  });
});

describe("bindings of policies", () => {
  const made = { policyName: "p", validationActions: ["Deny"] };
  const rows = [
    {
      name: "no policy and no action",
      spec: { policyName: "", validationActions: [] },
      faults: [
        "spec.policyName: Required value",
        "spec.validationActions: Required value: at least one validation action is required",
      ],
    },
    {
      name: "actions that contradict or repeat each other",
      spec: { validationActions: ["Deny", "Warn", "Deny", "Shout"] },
      faults: [
        'spec.validationActions[2]: Duplicate value: "Deny"',
        'spec.validationActions[3]: Unsupported value: "Shout": supported values: "Audit", "Deny", "Warn"',
        'spec.validationActions: Invalid value: ["Deny","Warn","Deny","Shout"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ],
    },
    {
      name: "parameters by name and by label",
      spec: { paramRef: { name: "n", selector: {}, parameterNotFoundAction: "Deny" } },
      faults: [
        "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
      ],
    },
    {
      name: "parameters by nothing",
      spec: { paramRef: {} },
      faults: [
        "spec.paramRef: Required value: one of name or selector must be specified",
        "spec.paramRef.parameterNotFoundAction: Required value",
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        runKind(binding, { object: { spec: { ...made, ...spec } } }).faults,
        faults,
      ));
  }

  test("only v1alpha1 decides itself what happens without parameters", () => {
    const object = { spec: { policyName: "p", paramRef: { name: "n" } } };
    assert.equal(runKind(mutatingBinding, { object }).faults.length, 1);
    assert.deepEqual(runKind(mutatingAdmissionPolicyBindingV1alpha1Kind, { object }).faults, []);
  });

  const cells = [
    { name: "none", paramRef: undefined, text: "<unset>" },
    { name: "in any namespace", paramRef: { name: "n" }, text: "*/n" },
    { name: "in a namespace", paramRef: { name: "n", namespace: "ns" }, text: "ns/n" },
    {
      name: "by label",
      paramRef: { selector: { matchLabels: { a: "b" } } },
      text: "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}",
    },
  ];
  for (const { name, paramRef, text } of cells) {
    test(`parameters in a cell: ${name}`, () => {
      const outcome = runKind(binding, { object: { spec: { ...made, paramRef } } });
      assert.deepEqual(cellsOf(binding, outcome).slice(1, 3), ["p", text]);
    });
  }
});
