import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { MutatingWebhookConfiguration } from "#api/generated/admissionregistration.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import {
  mutatingWebhookConfigurationKind as mutating,
  validatingWebhookConfigurationKind as validating,
} from "./webhook-configurations.ts";

const webhook = {
  name: "a.b.c",
  clientConfig: { url: "https://h/p" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};
const rule = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };
const hooks = (...fields: object[]) => ({
  webhooks: fields.map((each) => ({ ...webhook, ...each })),
});
const faultsOf = (fields: object, old?: object) =>
  runKind(validating, {
    object: hooks(fields),
    ...(old === undefined ? {} : { old: hooks(old) }),
  }).faults.map((fault) => fault.replace(/^webhooks\[0\]\./, ""));

describe("webhooks", () => {
  const rows = [
    { name: "no name", webhook: { name: "" }, faults: ["name: Required value"] },
    {
      name: "a short name",
      webhook: { name: "a.b" },
      faults: [
        'name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
      ],
    },
    {
      name: "unknown failurePolicy and matchPolicy",
      webhook: { failurePolicy: "Try", matchPolicy: "Near" },
      faults: [
        'failurePolicy: Unsupported value: "Try": supported values: "Fail", "Ignore"',
        'matchPolicy: Unsupported value: "Near": supported values: "Equivalent", "Exact"',
      ],
    },
    {
      name: "side effects that are not said",
      webhook: { sideEffects: null },
      faults: ["sideEffects: Required value: must specify one of None, NoneOnDryRun"],
    },
    {
      name: "side effects",
      webhook: { sideEffects: "Some" },
      faults: ['sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
    },
    {
      name: "too much time",
      webhook: { timeoutSeconds: 31 },
      faults: [
        "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
      ],
    },
    {
      name: "nowhere to ask",
      webhook: { clientConfig: {} },
      faults: ["clientConfig: Required value: exactly one of url or service is required"],
    },
    {
      name: "no version of reviews",
      webhook: { admissionReviewVersions: [] },
      faults: ["admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
    },
    {
      name: "unknown admissionReviewVersions",
      webhook: { admissionReviewVersions: ["v2", "v2"] },
      faults: [
        'admissionReviewVersions[1]: Invalid value: "v2": duplicate version',
        'admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
      ],
    },
    {
      name: "conditions without name or expression, or twice",
      webhook: {
        matchConditions: [
          { name: "", expression: " " },
          { name: "c", expression: "true" },
          { name: "c", expression: "true" },
        ],
      },
      faults: [
        "matchConditions[0].expression: Required value",
        "matchConditions[0].name: Required value",
        'matchConditions[2].name: Duplicate value: "c"',
      ],
    },
    {
      name: "too many conditions",
      webhook: {
        matchConditions: Array.from({ length: 65 }, (_, i) => ({ name: `c${i}`, expression: "1" })),
      },
      faults: ["matchConditions: Too many: 65: must have at most 64 items"],
    },
  ];
  for (const { name, webhook, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(faultsOf(webhook), faults));
  }

  const stored = [
    { name: "side effects", webhook: { sideEffects: "Some" } },
    { name: "versions of reviews", webhook: { admissionReviewVersions: ["v2"] } },
    { name: "conditions", webhook: { matchConditions: [{ name: "", expression: "" }] } },
  ];
  for (const { name, webhook } of stored) {
    test(`stored ${name} may stay`, () => assert.deepEqual(faultsOf(webhook, webhook), []));
  }

  test("names are unique, unless they were not", () => {
    const twice = hooks({}, {});
    assert.deepEqual(runKind(validating, { object: twice }).faults, [
      'webhooks[1].name: Duplicate value: "a.b.c"',
    ]);
    assert.deepEqual(runKind(validating, { object: twice, old: twice }).faults, []);
  });

  test("a mutating webhook says whether it wants to be asked again", () => {
    const object = hooks({ reinvocationPolicy: "Always" });
    assert.deepEqual(runKind(mutating, { object }).faults, [
      'webhooks[0].reinvocationPolicy: Unsupported value: "Always": supported values: "IfNeeded", "Never"',
    ]);
  });

  test("a MutatingWebhookConfiguration gets the defaults of each webhook", () => {
    const {
      apiVersion: _,
      kind: _kind,
      ...object
    } = runKind(mutating, {
      object: hooks({ clientConfig: { service: { namespace: "n", name: "s" } }, rules: [rule] }),
    }).object as MutatingWebhookConfiguration;
    assert.deepEqual(object.webhooks?.[0], {
      name: "a.b.c",
      clientConfig: { service: { namespace: "n", name: "s", port: 443 } },
      rules: [{ ...rule, scope: "*" }],
      failurePolicy: "Fail",
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      sideEffects: "None",
      timeoutSeconds: 10,
      admissionReviewVersions: ["v1"],
      reinvocationPolicy: "Never",
    });
  });

  test("changes of webhooks are counted, labels are not", () => {
    const old = { ...hooks({}), metadata: { generation: 3 } };
    const counted = (object: object) =>
      runKind(validating, { object: { ...object, metadata: { generation: 3 } }, old }).object
        .metadata.generation;
    assert.equal(counted(hooks({})), 3);
    assert.equal(counted(hooks({ timeoutSeconds: 1 })), 4);
    assert.equal(runKind(validating, { object: hooks({}) }).object.metadata.generation, 1);
  });

  test("reserved names are warned about; webhooks are counted", () => {
    const outcome = runKind(validating, {
      object: { ...hooks({}, { name: "a.b.d" }), metadata: { name: "x.static.k8s.io" } },
    });
    assert.deepEqual(outcome.warnings, [
      'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
    ]);
    assert.equal(cellsOf(validating, outcome)[1], 2);
  });
});

describe("rules of webhooks", () => {
  const rows = [
    {
      name: "about nothing",
      rule: {},
      faults: [
        "operations: Required value",
        "apiGroups: Required value",
        "apiVersions: Required value",
        "resources: Required value",
      ],
    },
    {
      name: "everything and something",
      rule: { ...rule, operations: ["*", "READ"], apiGroups: ["*", "a"], apiVersions: ["*", ""] },
      faults: [
        `operations: Invalid value: ["*","READ"]: if '*' is present, must not specify other operations`,
        'operations[1]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
        `apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other API groups`,
        `apiVersions: Invalid value: ["*",""]: if '*' is present, must not specify other API versions`,
        "apiVersions[1]: Required value",
      ],
    },
    {
      name: "resources that others include",
      rule: { ...rule, resources: ["pods/*", "pods/log", "*/scale", "x/scale", ""] },
      faults: [
        `resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
        `resources[3]: Invalid value: "x/scale": if '*/scale' is present, must not specify x/scale`,
        "resources[4]: Required value",
      ],
    },
    {
      name: "all resources and one",
      rule: { ...rule, resources: ["*", "pods"], scope: "Galaxy" },
      faults: [
        `resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources`,
        'scope: Unsupported value: "Galaxy": supported values: "*", "Cluster", "Namespaced"',
      ],
    },
    {
      name: "all subresources and one",
      rule: { ...rule, resources: ["*/*", "pods"] },
      faults: [
        `resources: Invalid value: ["*/*","pods"]: if '*/*' is present, must not specify other resources`,
      ],
    },
  ];
  for (const { name, rule, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        faultsOf({ rules: [rule] }),
        faults.map((fault) => `rules[0].${fault}`),
      ));
  }
});
