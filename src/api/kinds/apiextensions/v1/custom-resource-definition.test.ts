import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CustomResourceDefinition } from "#api/generated/apiextensions.v1.ts";
import { runKind } from "#api/testing/run-kind.ts";
import { customResourceDefinitionKind as kind } from "./custom-resource-definition.ts";

const metadata = { name: "things.example.com" };
const schema = { openAPIV3Schema: { type: "object" } };
const version = { name: "v1", served: true, storage: true, schema };
const names = { plural: "things", kind: "Thing" };
const made = { group: "example.com", scope: "Namespaced", names, versions: [version] };
const definition = (spec: object = {}, more: object = {}) => ({
  metadata,
  spec: { ...made, ...spec },
  ...more,
});
const ofVersion = (fields: object) => definition({ versions: [{ ...version, ...fields }] });

describe("CustomResourceDefinition: definitions", () => {
  const LABEL =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
  const rows = [
    {
      name: "another name",
      object: { ...definition(), metadata: { name: "x.example.com" } },
      faults: [
        'metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group',
      ],
    },
    {
      name: "generateName is reported before other errors of metadata",
      object: { ...definition(), metadata: { ...metadata, generateName: "y", labels: { a: "-" } } },
      faults: [
        'metadata.generateName: Invalid value: "y": must be spec.names.plural+"."+spec.group',
        "metadata.labels: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      ],
    },
    {
      name: "a group without a dot, and no scope",
      object: {
        ...definition({ group: "example", scope: "" }),
        metadata: { name: "things.example" },
      },
      faults: [
        'spec.group: Invalid value: "example": should be a domain with at least one dot',
        "spec.scope: Required value",
      ],
    },
    {
      name: "names that cannot be",
      object: definition({
        names: { ...names, kind: "Thi ng", listKind: "Thi ng", shortNames: ["T"] },
      }),
      faults: [
        `spec.names.singular: Invalid value: "thi ng": ${LABEL}`,
        `spec.names.kind: Invalid value: "Thi ng": may have mixed case, but should otherwise match: ${LABEL}`,
        `spec.names.listKind: Invalid value: "Thi ng": may have mixed case, but should otherwise match: ${LABEL}`,
        `spec.names.shortNames[0]: Invalid value: "T": ${LABEL}`,
        'spec.names.listKind: Invalid value: "Thi ng": kind and listKind may not be the same',
      ],
    },
    {
      name: "no schema",
      object: definition({ versions: [{ name: "v1", served: true, storage: true }] }),
      faults: ["spec.versions[0].schema.openAPIV3Schema: Required value"],
    },
    {
      name: "unknown fields kept in the old way",
      object: definition({ preserveUnknownFields: true }),
      faults: [
        "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
      ],
    },
    {
      name: "a warning about what is not deprecated",
      object: ofVersion({ deprecationWarning: "old" }),
      faults: [
        'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
      ],
    },
    {
      name: "a warning of hidden characters",
      object: ofVersion({ deprecated: true, deprecationWarning: "ä\u0007" }),
      faults: [
        'spec.versions[0].deprecationWarning: Invalid value: "ä\\a": must only contain printable UTF-8 characters; non-printable character found at index 2',
      ],
    },
    {
      name: "columns that cannot be shown",
      object: ofVersion({
        additionalPrinterColumns: [
          { name: "", type: "text", format: "long", jsonPath: "spec" },
          { name: "n", type: "", jsonPath: "" },
        ],
      }),
      faults: [
        "spec.additionalPrinterColumns[0].name: Required value",
        'spec.additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer,number,string',
        'spec.additionalPrinterColumns[0].format: Invalid value: "long": must be one of byte,date,date-time,double,float,int32,int64,password',
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path starting with .',
        "spec.additionalPrinterColumns[1].type: Required value: must be one of boolean,date,integer,number,string",
        "spec.additionalPrinterColumns[1].JSONPath: Required value",
      ],
    },
    {
      name: "scales of nothing",
      object: ofVersion({
        subresources: {
          scale: {
            specReplicasPath: ".status.n",
            statusReplicasPath: "",
            labelSelectorPath: ".metadata.x",
          },
        },
      }),
      faults: [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.n": should be a json path under .spec',
        "spec.subresources.scale.statusReplicasPath: Required value",
        'spec.subresources.scale.labelSelectorPath: Invalid value: ".metadata.x": should be a json path under either .spec or .status',
      ],
    },
    {
      name: "conversion strategy Webhook without a webhook",
      object: definition({ conversion: { strategy: "Webhook" } }),
      faults: [
        "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        "spec.conversion.conversionReviewVersions: Required value",
      ],
    },
    {
      name: "conversions by someone who is not asked",
      object: definition({
        conversion: {
          strategy: "None",
          webhook: { clientConfig: {}, conversionReviewVersions: ["v1"] },
        },
      }),
      faults: [
        "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
      ],
    },
    {
      name: "groups of the community without its approval",
      object: {
        ...definition({ group: "example.k8s.io" }),
        metadata: { name: "things.example.k8s.io" },
      },
      faults: [
        'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
      ],
    },
  ];
  for (const { name, object, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, { object }).faults, faults));
  }

  const approvals = [
    { text: "https://example.com/pull/1", faults: 0 },
    { text: "unapproved, experimental", faults: 0 },
    { text: "yes", faults: 1 },
  ];
  for (const { text, faults } of approvals) {
    test(`an approval: ${text}`, () => {
      const object = {
        ...definition({ group: "example.k8s.io" }),
        metadata: {
          name: "things.example.k8s.io",
          annotations: { "api-approved.kubernetes.io": text },
        },
      };
      assert.equal(runKind(kind, { object }).faults.length, faults);
    });
  }

  test("names, conversion strategy and storedVersions have defaults", () => {
    const { spec, status } = runKind(kind, { object: definition() })
      .object as CustomResourceDefinition;
    assert.deepEqual(spec.names, { ...names, singular: "thing", listKind: "ThingList" });
    assert.deepEqual(spec.conversion, { strategy: "None" });
    assert.deepEqual(status.storedVersions, ["v1"]);
  });

  test("unknown formats cause one warning each", () => {
    const withFormat = (format: string) =>
      ofVersion({
        schema: {
          openAPIV3Schema: { type: "object", properties: { a: { type: "string", format } } },
        },
      });
    assert.deepEqual(runKind(kind, { object: withFormat("starsign") }).warnings, [
      'unrecognized format "starsign"',
    ]);
    const same = { object: withFormat("starsign"), old: withFormat("starsign") };
    assert.deepEqual(runKind(kind, same).warnings, []);
  });
});

describe("CustomResourceDefinition: versions of a definition", () => {
  const textOf = (object: object) =>
    runKind(kind, { object: object as Record<string, unknown> }).faults.map((fault) =>
      fault.replace(/Invalid value: \[.*\]: /, ""),
    );

  test("one is stored, none is there twice", () => {
    const { storage: _, ...v2 } = version;
    assert.deepEqual(
      textOf(definition({ versions: [{ ...v2, storage: false }, version, version] })),
      [
        "spec.versions: must contain unique version names",
        "spec.versions: must have exactly one version marked as storage version",
        "status.storedVersions: must have the storage version v1",
      ],
    );
  });

  test("schema errors of one version are reported at the version, of all versions at the top", () => {
    const bad = { openAPIV3Schema: { type: "object", nullable: true } };
    const other = { ...version, name: "v2", storage: false };
    assert.deepEqual(textOf(definition({ versions: [{ ...version, schema: bad }, other] })), [
      "spec.versions[0].schema.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root",
    ]);
    assert.deepEqual(textOf(ofVersion({ schema: bad })), [
      "spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root",
    ]);
  });

  test("selectableFields must be scalar fields of the schema, each once", () => {
    const properties = {
      metadata: { type: "object", properties: { name: { type: "string" } } },
      spec: {
        type: "object",
        properties: { color: { type: "string" }, size: { type: "number" } },
      },
    };
    const selectableFields = [".spec.color", ".spec.color", ".spec.size", ".spec.x", ""].map(
      (jsonPath) => ({ jsonPath }),
    );
    assert.deepEqual(
      textOf(
        ofVersion({
          schema: { openAPIV3Schema: { type: "object", properties } },
          selectableFields,
        }),
      ),
      [
        'spec.selectableFields[1].jsonPath: Duplicate value: ".spec.color"',
        'spec.selectableFields[2].jsonPath: Invalid value: ".spec.size": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        'spec.selectableFields[3].jsonPath: Invalid value: ".spec.x": is an invalid path: does not refer to a valid field',
        "spec.selectableFields[4].jsonPath: Required value",
      ],
    );
  });
});

describe("CustomResourceDefinition: updates of a definition", () => {
  const established = {
    conditions: [{ type: "Established", status: "True", lastTransitionTime: null }],
    acceptedNames: { plural: "things", kind: "Thing" },
    storedVersions: ["v1"],
  };
  const rows = [
    {
      name: "another kind, once it is established",
      write: {
        object: definition({ scope: "Cluster", names: { ...names, kind: "Gadget" } }),
        old: definition({}, { status: established }),
      },
      faults: [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Gadget": field is immutable',
      ],
    },
    {
      name: "a stored version that is gone",
      write: {
        object: ofVersion({ name: "v2" }),
        old: definition({}, { status: established }),
      },
      faults: [
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
      ],
    },
    {
      name: "another group",
      write: { object: definition({ group: "example.org" }), old: definition() },
      faults: ['spec.group: Invalid value: "example.org": field is immutable'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, write).faults, faults));
  }

  test("before that it may change", () => {
    const write = { object: definition({ scope: "Cluster" }), old: definition() };
    assert.deepEqual(runKind(kind, write).faults, []);
  });

  test("what is stored now is remembered", () => {
    const { status } = runKind(kind, {
      object: definition({
        versions: [
          { ...version, storage: false },
          { ...version, name: "v2" },
        ],
      }),
      old: definition({}, { status: established }),
    }).object as CustomResourceDefinition;
    assert.deepEqual(status.storedVersions, ["v1", "v2"]);
  });

  test("a stored definition may stay as odd as it was", () => {
    const odd = ofVersion({
      schema: { openAPIV3Schema: { type: "object", properties: { a: { type: "thing" } } } },
    });
    assert.equal(runKind(kind, { object: odd }).faults.length, 1);
    assert.deepEqual(runKind(kind, { object: odd, old: odd }).faults, []);
  });
});
