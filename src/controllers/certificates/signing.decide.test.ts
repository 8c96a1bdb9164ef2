import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText, written } from "#testing/decisions.ts";
import { certificateSigning } from "./signing.ts";

const AT = "2030-01-01T00:00:00Z";
const signing = certificateSigning({ lifetimeMaxMs: 1, signers: {} });
const request = build(certificateSigningRequestKind, {
  metadata: { name: "r" },
  status: { conditions: [{ type: "Approved", status: "True", lastUpdateTime: AT }] },
});
const STATUS: OutcomeText = { writes: ["update CertificateSigningRequest r/status"] };

describe("CertificateSigningRequest: decide", () => {
  test("a request of another signer is left alone", () => {
    const outcome = signing.decide({ request, result: { is: "not ours" } }, Date.parse(AT));
    assert.deepEqual(describeOutcome(outcome), { writes: [] });
  });

  test("a signed request gets status.certificate", () => {
    const result = { is: "signed", certificatePem: "PEM" } as const;
    const outcome = signing.decide({ request, result }, Date.parse(AT));
    assert.deepEqual(describeOutcome(outcome), STATUS);
    const { status } = written(outcome, certificateSigningRequestKind)!;
    assert.deepEqual([status.certificate, status.conditions?.length], [btoa("PEM"), 1]);
  });

  test("a request that cannot be signed gets the condition Failed with the error", () => {
    const result = { is: "invalid", fault: "no" } as const;
    const outcome = signing.decide({ request, result }, Date.parse(AT));
    assert.deepEqual(describeOutcome(outcome), STATUS);
    assert.deepEqual(written(outcome, certificateSigningRequestKind)?.status.conditions?.[1], {
      type: "Failed",
      status: "True",
      reason: "SignerValidationFailure",
      message: "no",
      lastUpdateTime: AT,
    });
  });

  test("a request that is gone needs nothing", () =>
    assert.deepEqual(signing.decide(undefined, 0), {}));
});
