import assert from "node:assert/strict";
import { test } from "vitest";
import { validatingAdmissionPolicyKind } from "#api/kinds/admissionregistration/v1/validating-admission-policy.ts";
import { startCluster } from "#testing/cluster.ts";
import { validatingAdmissionPolicyStatus } from "./validating-admission-policy-status.ts";

test("ValidatingAdmissionPolicy: status.observedGeneration follows the generation", async () => {
  await using cluster = await startCluster({ controllers: [validatingAdmissionPolicyStatus] });
  const status = () => cluster.get(validatingAdmissionPolicyKind, "p")?.status;
  await cluster.seed(validatingAdmissionPolicyKind, {
    metadata: { name: "p", generation: 1 },
    spec: { validations: [{ expression: "true" }] },
  });
  assert.deepEqual(status(), { observedGeneration: 1, typeChecking: {} });
  await cluster.edit(
    validatingAdmissionPolicyKind,
    "p",
    (policy) => void (policy.metadata.generation = 2),
  );
  assert.deepEqual(status(), { observedGeneration: 2, typeChecking: {} });
});

test("validatingAdmissionPolicyStatus: expressions that do not fit the matched kinds are warned about", async () => {
  await using cluster = await startCluster({ controllers: [validatingAdmissionPolicyStatus] });
  await cluster.seed(validatingAdmissionPolicyKind, {
    metadata: { name: "p", generation: 1 },
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ["apps"],
            apiVersions: ["v1"],
            operations: ["CREATE"],
            resources: ["deployments", "statefulsets/scale"],
          },
        ],
      },
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      variables: [{ name: "most", expression: "object.spec.replicas * 2" }],
      validations: [
        { expression: "object.spec.replicas > '1'" },
        { expression: "variables.most < 10 && params.data['a'] == 'b'" },
        { expression: "true", messageExpression: "object.spec.nope + 'x'" },
        { expression: "object.metadata.labels.all(k, k != '')" },
      ],
    },
  });
  assert.deepEqual(
    cluster.get(validatingAdmissionPolicyKind, "p")?.status.typeChecking?.expressionWarnings,
    [
      {
        fieldRef: "spec.validations[0].expression",
        warning:
          "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n",
      },
      {
        fieldRef: "spec.validations[2].messageExpression",
        warning:
          "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'nope'\n | object.spec.nope + 'x'\n | ...........^\n",
      },
    ],
  );
});
