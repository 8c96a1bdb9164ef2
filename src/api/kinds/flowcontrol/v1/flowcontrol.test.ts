/** Flow schemas and priority levels. */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { FlowSchema, PriorityLevelConfiguration } from "#api/generated/flowcontrol.v1.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { flowSchemaKind as schema } from "./flow-schema.ts";
import { MANDATORY_FLOW_SCHEMAS, MANDATORY_PRIORITY_LEVELS } from "./mandatory.ts";
import { priorityLevelConfigurationKind as level } from "./priority-level-configuration.ts";

const made = { priorityLevelConfiguration: { name: "l" } };
const user = { kind: "User", user: { name: "u" } };
const pods = { verbs: ["get"], apiGroups: [""], resources: ["pods"], namespaces: ["*"] };

describe("flow schemas", () => {
  const rows = [
    {
      name: "a precedence that only one may have",
      spec: { matchingPrecedence: 1 },
      faults: [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
      ],
    },
    {
      name: "a precedence after all",
      spec: { matchingPrecedence: 10_001 },
      faults: ["spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000"],
    },
    {
      name: "a precedence before all",
      spec: { matchingPrecedence: -1 },
      faults: ["spec.matchingPrecedence: Invalid value: -1: must be a positive value"],
    },
    {
      name: "no priority level and an unknown distinguisherMethod",
      spec: { priorityLevelConfiguration: { name: "" }, distinguisherMethod: { type: "ByMood" } },
      faults: [
        'spec.distinguisherMethod.type: Unsupported value: {"Type":"ByMood"}: supported values: "ByNamespace", "ByUser"',
        "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
      ],
    },
    {
      name: "an empty rule",
      spec: { rules: [{}] },
      faults: [
        "spec.rules[0].subjects: Required value: subjects must contain at least one value",
        "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(runKind(schema, { object: { spec: { ...made, ...spec } } }).faults, faults));
  }

  test("defaults and cells", () => {
    const outcome = runKind(schema, { object: { spec: made } });
    assert.equal((outcome.object as FlowSchema).spec.matchingPrecedence, 1000);
    assert.deepEqual(cellsOf(schema, outcome), ["x", "l", 1000, "<none>", "<unknown>", "?"]);
  });

  for (const [name, spec] of MANDATORY_FLOW_SCHEMAS) {
    test(`${name} is what it is`, () => {
      const metadata = { name };
      assert.deepEqual(runKind(schema, { object: { metadata, spec } }).faults, []);
      const { faults } = runKind(schema, {
        object: { metadata, spec: { ...spec, matchingPrecedence: 7 } },
      });
      assert.match(faults[0]!, new RegExp(`spec of '${name}' must equal the fixed value`));
    });
  }
});

describe("rules of flow schemas", () => {
  const ofSubject = (subject: object) => ({ subjects: [subject], resourceRules: [pods] });
  const ofResources = (rule: object) => ({
    subjects: [user],
    resourceRules: [{ ...pods, ...rule }],
  });
  const ofUrls = (...nonResourceURLs: string[]) => ({
    subjects: [user],
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs }],
  });
  const rows = [
    {
      name: "a subject of unknown kind",
      rule: ofSubject({ kind: "Robot" }),
      faults: [
        'subjects[0].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
      ],
    },
    {
      name: "a subject without itself, but with another",
      rule: ofSubject({ kind: "Group", user: { name: "u" } }),
      faults: [
        "subjects[0].group: Required value: group is required when subject kind is 'Group'",
        "subjects[0].user: Forbidden: user is forbidden when subject kind is not 'User'",
      ],
    },
    {
      name: "an account of nowhere",
      rule: ofSubject({ kind: "ServiceAccount", serviceAccount: { namespace: "", name: "" } }),
      faults: [
        "subjects[0].serviceAccount.name: Required value",
        "subjects[0].serviceAccount.namespace: Required value: must specify namespace for service account",
      ],
    },
    {
      name: "unknown verbs",
      rule: ofResources({ verbs: ["look"] }),
      faults: [
        'resourceRules[0].verbs: Unsupported value: ["look"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
      ],
    },
    {
      name: "everything and something",
      rule: ofResources({ verbs: ["*", "get"], apiGroups: ["*", "a"] }),
      faults: [
        `resourceRules[0].verbs: Invalid value: ["*","get"]: if '*' is present, must not specify other verbs`,
        `resourceRules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other api groups`,
      ],
    },
    {
      name: "no place",
      rule: ofResources({ namespaces: [], resources: [] }),
      faults: [
        "resourceRules[0].resources: Required value: resource rules must supply at least one resource",
        "resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
      ],
    },
    {
      name: "addresses that cannot be",
      rule: ofUrls("", "a", "/a b", "/a//b", "/a*", "/*/*", "/", "/a/*"),
      faults: [
        ["", "must not be empty"],
        ["a", "must start with slash"],
        ["/a b", "must not contain white-space"],
        ["/a//b", "must not contain double slash"],
        ["/a*", "wildcard can only do suffix matching"],
        ["/*/*", "wildcard can only do suffix matching"],
      ].map(
        ([url, why], i) =>
          `nonResourceRules[0].nonResourceURLs[${i}]: Invalid value: "${url}": ${why}`,
      ),
    },
  ];
  for (const { name, rule, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(
        runKind(schema, { object: { spec: { ...made, rules: [rule] } } }).faults,
        faults.map((fault) => `spec.rules[0].${fault}`),
      ));
  }
});

describe("priority levels", () => {
  const limited = (fields: object) => ({
    type: "Limited",
    limited: { limitResponse: { type: "Reject" }, ...fields },
  });
  const queues = (queuing: object) => limited({ limitResponse: { type: "Queue", queuing } });
  const rows = [
    {
      name: "an exemption for another",
      spec: { type: "Exempt", limited: { limitResponse: { type: "Reject" } } },
      faults: [
        "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
        "spec.limited: Forbidden: must be nil if the type is not Limited",
      ],
    },
    {
      name: "a limit without limits",
      spec: { type: "Limited", exempt: {} },
      faults: [
        "spec.exempt: Forbidden: must be nil if the type is Limited",
        "spec.limited: Required value: must not be empty when type is Limited",
      ],
    },
    {
      name: "no type",
      spec: { type: "" },
      faults: ["spec.type: Required value"],
    },
    {
      name: "shares out of range",
      spec: limited({
        nominalConcurrencyShares: -1,
        lendablePercent: 101,
        borrowingLimitPercent: -1,
      }),
      faults: [
        "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
        "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
        "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
      ],
    },
    {
      name: "limitResponse Reject with queuing",
      spec: limited({ limitResponse: { type: "Reject", queuing: {} } }),
      faults: [
        "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited",
      ],
    },
    {
      name: "limitResponse Queue without queuing",
      spec: limited({ limitResponse: { type: "Queue" } }),
      faults: [
        "spec.limited.limitResponse.queuing: Required value: must not be empty if limited.limitResponse.type is Limited",
      ],
    },
    {
      name: "a hand larger than the deck",
      spec: queues({ queues: 4, handSize: 5 }),
      faults: [
        "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)",
      ],
    },
    {
      name: "hands that a hash cannot deal",
      spec: queues({ queues: 512, handSize: 7 }),
      faults: [
        "spec.limited.limitResponse.queuing.handSize: Invalid value: 7: required entropy bits of deckSize 512 and handSize 7 should not be greater than 60",
      ],
    },
    {
      name: "too many queues",
      spec: queues({ queues: 10_000_001, handSize: 1, queueLengthLimit: -1 }),
      faults: [
        "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
        "spec.limited.limitResponse.queuing.queues: Invalid value: 10000001: must not be greater than 10000000",
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse ${name}`, () =>
      assert.deepEqual(runKind(level, { object: { spec } }).faults, faults));
  }

  test("an annotation of an older version", () => {
    const annotations = {
      "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": "",
    };
    assert.deepEqual(
      runKind(level, { object: { metadata: { annotations }, spec: limited({}) } }).faults,
      [
        "metadata.annotations: Forbidden: annotation 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares' is forbidden",
      ],
    );
  });

  test("defaults and cells", () => {
    const outcome = runKind(level, { object: { spec: queues({}) } });
    assert.deepEqual((outcome.object as PriorityLevelConfiguration).spec.limited, {
      nominalConcurrencyShares: 30,
      limitResponse: {
        type: "Queue",
        queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 },
      },
      lendablePercent: 0,
    });
    assert.deepEqual(cellsOf(level, outcome).slice(0, 6), ["x", "Limited", 30, 64, 8, 50]);
  });

  for (const [name, spec] of MANDATORY_PRIORITY_LEVELS) {
    test(`${name} is what it is`, () =>
      assert.deepEqual(runKind(level, { object: { metadata: { name }, spec } }).faults, []));
  }

  test("the share of exempt may change", () => {
    const spec = { type: "Exempt", exempt: { nominalConcurrencyShares: 3 } };
    assert.deepEqual(runKind(level, { object: { metadata: { name: "exempt" }, spec } }).faults, []);
  });

  test("conditions have a type, and each once", () => {
    const conditions = [{ type: "A" }, { type: "A" }, {}];
    const write = {
      object: { spec: limited({}), status: { conditions } },
      old: { spec: limited({}) },
      subresource: "status",
    };
    assert.deepEqual(runKind(level, write).faults, [
      'status.conditions[1].type: Duplicate value: "A"',
      "status.conditions[2].type: Required value",
    ]);
  });
});
