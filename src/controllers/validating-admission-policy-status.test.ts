import assert from "node:assert/strict";
import { test } from "vitest";
import { validatingAdmissionPolicyKind } from "#api/admissionregistration/v1/validating-admission-policy.ts";
import { startCluster } from "#testing/cluster.ts";
import { validatingAdmissionPolicyStatus } from "./validating-admission-policy-status.ts";

test("the generation of a policy is noted once it is seen", async () => {
  await using cluster = await startCluster({ controllers: [validatingAdmissionPolicyStatus] });
  const status = () => cluster.get(validatingAdmissionPolicyKind, "p")?.status;
  await cluster.seed(validatingAdmissionPolicyKind, {
    metadata: { name: "p", generation: 1 },
    spec: { validations: [{ expression: "true" }] },
  });
  assert.deepEqual(status(), { observedGeneration: 1 });
  await cluster.edit(
    validatingAdmissionPolicyKind,
    "p",
    (policy) => void (policy.metadata.generation = 2),
  );
  assert.deepEqual(status(), { observedGeneration: 2 });
});
