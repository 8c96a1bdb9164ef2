import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { runKind } from "#api/testing/run-kind.ts";
import {
  localSubjectAccessReviewKind as local,
  selfSubjectAccessReviewKind as self,
  subjectAccessReviewKind as subject,
} from "./access-reviews.ts";

const resourceAttributes = { namespace: "ns", verb: "get", resource: "pods" };
const nonResourceAttributes = { path: "/", verb: "get" };
const user = "u";

describe("SubjectAccessReview", () => {
  const rows = [
    {
      name: "neither attributes nor user",
      kind: subject,
      object: { spec: {} },
      faults: [
        "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
        'spec.user: Invalid value: "": at least one of user or group must be specified',
      ],
    },
    {
      name: "two questions at once",
      kind: self,
      object: { spec: { resourceAttributes, nonResourceAttributes } },
      faults: [
        'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: cannot be specified in combination with resourceAttributes',
      ],
    },
    {
      name: "a name",
      kind: self,
      object: { metadata: { name: "n" }, spec: { resourceAttributes } },
      faults: ['metadata: Invalid value: {"name":"n"}: must be empty'],
    },
    {
      name: "another namespace",
      kind: local,
      object: { spec: { user, resourceAttributes: { ...resourceAttributes, namespace: "m" } } },
      faults: [
        'spec.resourceAttributes.namespace: Invalid value: "m": must match metadata.namespace',
      ],
    },
    {
      name: "an address in a namespace",
      kind: local,
      object: { spec: { user, nonResourceAttributes } },
      faults: [
        'spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request',
      ],
    },
    {
      name: "selectors that select nothing, or twice",
      kind: self,
      object: {
        spec: {
          resourceAttributes: {
            ...resourceAttributes,
            fieldSelector: {},
            labelSelector: {
              rawSelector: "a",
              requirements: [{ key: "a", operator: "In" }],
            },
          },
        },
      },
      faults: [
        "spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required",
        'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements',
        "spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    },
    {
      name: "requirements that cannot be met",
      kind: self,
      object: {
        spec: {
          resourceAttributes: {
            ...resourceAttributes,
            fieldSelector: {
              requirements: [
                { key: "", operator: "In" },
                { key: "k", operator: "Exists", values: ["v"] },
              ],
            },
          },
        },
      },
      faults: [
        "spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified",
        "spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "spec.resourceAttributes.fieldSelector.requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      ],
    },
  ];
  for (const { name, kind, object, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, { object }).faults, faults));
  }

  const fine = [
    {
      name: "a SelfSubjectAccessReview of nonResourceAttributes is accepted",
      kind: self,
      object: { spec: { nonResourceAttributes } },
    },
    {
      name: "a SubjectAccessReview of a user is accepted",
      kind: subject,
      object: { spec: { user, resourceAttributes } },
    },
    {
      name: "a SubjectAccessReview of a group is accepted",
      kind: subject,
      object: { spec: { groups: ["g"], resourceAttributes } },
    },
    {
      name: "a LocalSubjectAccessReview in a namespace is accepted",
      kind: local,
      object: { spec: { user, resourceAttributes } },
    },
  ];
  for (const { name, kind, object } of fine) {
    test(name, () => assert.deepEqual(runKind(kind, { object }).faults, []));
  }
});
