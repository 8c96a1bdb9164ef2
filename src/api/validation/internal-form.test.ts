import assert from "node:assert/strict";
import { test } from "vitest";
import { internalForm } from "./internal-form.ts";

const cases = [
  {
    name: "Go names with initialisms",
    type: "rbac.v1.RoleRef",
    value: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "edit" },
    want: '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"edit"}',
  },
  {
    name: "metav1 keeps its JSON names, absent pointers are null",
    type: "policy.v1.PodDisruptionBudgetSpec",
    value: { minAvailable: 1, maxUnavailable: 1, selector: { matchLabels: { a: "b" } } },
    want: '{"MinAvailable":1,"Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}',
  },
  {
    name: "embedded metadata, nested structs, empty values",
    type: "resource.v1.ResourceClaimTemplateSpec",
    value: { metadata: {}, spec: { devices: { requests: [{ name: "q" }] } } },
    want: '{"Spec":{"Devices":{"Requests":[{"Name":"q","Exactly":null,"FirstAvailable":null}],"Constraints":null,"Config":null}}}',
  },
  {
    name: "lists",
    type: "[]apiextensions.v1.SelectableField",
    value: [{ jsonPath: ".a" }],
    want: '[{"JSONPath":".a"}]',
  },
  {
    name: "other names and order inside",
    type: "resource.v1.DeviceAttribute",
    value: { bool: true },
    want: '{"IntValue":null,"BoolValue":true,"StringValue":null,"VersionValue":null,"IntValues":null,"BoolValues":null,"StringValues":null,"VersionValues":null}',
  },
  {
    name: "unions of JSON Schema are structs inside",
    type: "apiextensions.v1.JSONSchemaPropsOrBool",
    value: false,
    want: '{"Allows":false,"Schema":null}',
  },
];

for (const { name, type, value, want } of cases) {
  test(`validation: internal form: ${name}`, () => {
    assert.equal(JSON.stringify(internalForm(type, value)), want);
  });
}
