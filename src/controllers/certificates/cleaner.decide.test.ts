import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { build } from "#testing/build.ts";
import { describeOutcome, type OutcomeText } from "#testing/decisions.ts";
import { certificateCleaner } from "./cleaner.ts";

const AT = "2030-01-01T00:00:00Z";
const HOUR_MS = 3_600_000;

function request(types: readonly string[], isIssued = false): CertificateSigningRequest {
  return build(certificateSigningRequestKind, {
    metadata: { name: "r", creationTimestamp: AT },
    status: {
      conditions: types.map((type) => ({ type, status: "True" as const, lastUpdateTime: AT })),
      ...(isIssued ? { certificate: btoa("not a certificate") } : {}),
    },
  });
}

const DELETE: OutcomeText = { writes: ["delete CertificateSigningRequest r"] };
const wait = (ms: number): OutcomeText => ({ writes: [], recheckInMs: ms });

const rows: { name: string; of: CertificateSigningRequest; afterMs: number; want: OutcomeText }[] =
  [
    {
      name: "pending for a day",
      of: request([]),
      afterMs: 24 * HOUR_MS + 1,
      want: DELETE,
    },
    {
      name: "a pending request is kept for 24 hours",
      of: request([]),
      afterMs: 24 * HOUR_MS,
      want: wait(1),
    },
    {
      name: "a request that was denied an hour ago is deleted",
      of: request(["Denied"]),
      afterMs: HOUR_MS + 1,
      want: DELETE,
    },
    {
      name: "a request that has just failed is kept for an hour",
      of: request(["Failed"]),
      afterMs: 0,
      want: wait(HOUR_MS + 1),
    },
    {
      name: "a request that was approved and never signed is kept for 24 hours",
      of: request(["Approved"]),
      afterMs: HOUR_MS + 1,
      want: wait(23 * HOUR_MS),
    },
    {
      name: "a request that was signed an hour ago is deleted",
      of: request(["Approved"], true),
      afterMs: HOUR_MS + 1,
      want: DELETE,
    },
  ];

describe("CertificateSigningRequest: requests that are done with", () => {
  for (const { name, of, afterMs, want } of rows) {
    test(name, () => {
      assert.deepEqual(
        describeOutcome(certificateCleaner.decide(of, Date.parse(AT) + afterMs)),
        want,
      );
    });
  }
});
