import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { validatingAdmissionPolicyKind } from "#api/kinds/admissionregistration/v1/validating-admission-policy.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, written } from "#testing/decisions.ts";
import { validatingAdmissionPolicyStatus } from "./validating-admission-policy-status.ts";

const rows = [
  { name: "new", generation: 1, seen: undefined, want: true },
  { name: "seen", generation: 1, seen: 1, want: false },
  { name: "changed since", generation: 3, seen: 2, want: true },
];

describe("the status of a policy", () => {
  for (const { name, generation, seen, want } of rows) {
    test(name, () => {
      const policy = build(validatingAdmissionPolicyKind, {
        metadata: { name: "p", generation },
        status: seen === undefined ? {} : { observedGeneration: seen },
      });
      const outcome = validatingAdmissionPolicyStatus.decide(policy, 0);
      const writes = want ? ["update ValidatingAdmissionPolicy p/status"] : [];
      assert.deepEqual(describeOutcome(outcome), { writes });
      const { status } = written(outcome, validatingAdmissionPolicyKind) ?? {};
      assert.equal(status?.observedGeneration, want ? generation : undefined);
    });
  }
  test("gone", () => assert.deepEqual(validatingAdmissionPolicyStatus.decide(undefined, 0), {}));
});
