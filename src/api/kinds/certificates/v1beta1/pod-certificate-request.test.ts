import assert from "node:assert/strict";
import { describe, test } from "vitest";
import {
  AUTHORITY_PEM,
  LEAF_PEM,
  P224_KEY_BASE64,
  PUBLIC_KEY_BASE64,
  REQUEST_PEM,
  RSA_2048_KEY_BASE64,
} from "#api/testing/certificates.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { parsePem } from "#lib/der/pem.ts";
import { podCertificateRequestKind as kind } from "./pod-certificate-request.ts";

const NOW = Date.UTC(2030, 0, 1);
const REQUEST_BASE64 = btoa(String.fromCharCode(...parsePem(REQUEST_PEM)[0]!.bytes));
const made = {
  signerName: "example.com/s",
  podName: "p",
  podUID: "1",
  serviceAccountName: "sa",
  serviceAccountUID: "2",
  nodeName: "n",
  nodeUID: "3",
  stubPKCS10Request: REQUEST_BASE64,
};
const key = (pkixPublicKey: string) => ({
  stubPKCS10Request: "",
  pkixPublicKey,
  proofOfPossession: "AA==",
});

describe("what a node asks for", () => {
  const rows = [
    {
      name: "missing podUID, too long nodeUID",
      spec: { podUID: "", nodeUID: "x".repeat(129) },
      faults: [
        'spec.podUID: Invalid value: "": must not be empty',
        "spec.nodeUID: Too long: may not be more than 128 bytes",
      ],
    },
    {
      name: "for too short",
      spec: { maxExpirationSeconds: 3599 },
      faults: [
        "spec.maxExpirationSeconds: Invalid value: 3599: must be in the range [3600, 7862400]",
      ],
    },
    {
      name: "for longer than the cluster's own signers give",
      spec: { signerName: "kubernetes.io/s", maxExpirationSeconds: 86_401 },
      faults: [
        "spec.maxExpirationSeconds: Invalid value: 86401: must be in the range [3600, 86400]",
      ],
    },
    {
      name: "without key",
      spec: { stubPKCS10Request: "" },
      faults: [
        "spec: Invalid value: exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set",
      ],
    },
    {
      name: "with something else for a request",
      spec: { stubPKCS10Request: "AA==" },
      faults: ["spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR"],
    },
    {
      name: "with a short RSA key",
      spec: key(RSA_2048_KEY_BASE64),
      faults: [
        'spec.pkixPublicKey: Invalid value: "2048-bit modulus": RSA keys must have modulus size 3072 or 4096',
      ],
    },
    {
      name: "with a short curve",
      spec: key(P224_KEY_BASE64),
      faults: [
        'spec.pkixPublicKey: Invalid value: "curve P-224": elliptic public keys must use curve P256 or P384',
      ],
    },
    {
      name: "unverifiedUserAnnotations without a domain prefix",
      spec: { unverifiedUserAnnotations: { a: "b" } },
      faults: [
        'spec.unverifiedUserAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")',
      ],
    },
  ];
  for (const { name, spec, faults } of rows) {
    test(`refuse one ${name}`, () =>
      assert.deepEqual(runKind(kind, { object: { spec: { ...made, ...spec } } }).faults, faults));
  }

  const proofs = [
    { name: "right", fault: undefined, faults: [] },
    {
      name: "wrong",
      fault: "no",
      faults: [
        "spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature",
      ],
    },
  ];
  for (const { name, fault, faults } of proofs) {
    test(`a proof that the server finds ${name}`, () => {
      const signatures = {
        request: () => undefined,
        publicHalf: () => undefined,
        proof: (_: Uint8Array, message: Uint8Array) => {
          assert.equal(new TextDecoder().decode(message), made.podUID);
          return fault;
        },
      };
      const object = { spec: { ...made, ...key(PUBLIC_KEY_BASE64) } };
      assert.deepEqual(runKind(kind, { object, context: { signatures } }).faults, faults);
    });
  }

  test("the spec is immutable", () => {
    const write = { object: { spec: { ...made, podName: "q" } }, old: { spec: made } };
    assert.match(runKind(kind, write).faults[0]!, /^spec: Invalid value: .*: field is immutable$/);
  });
});

describe("PodCertificateRequest: how a request ends", () => {
  const condition = (type: string, status = "True") => ({
    type,
    status,
    lastTransitionTime: "2030-01-01T00:00:00Z",
    reason: "R",
    message: "m",
  });
  const issued = {
    conditions: [condition("Issued")],
    certificateChain: LEAF_PEM + AUTHORITY_PEM,
    notBefore: "2030-01-01T00:00:00Z",
    beginRefreshAt: "2030-01-01T12:00:00Z",
    notAfter: "2030-01-02T00:00:00Z",
  };
  const write = (status: object, old: object = {}) => ({
    object: { spec: made, status },
    old: { spec: made, status: old },
    subresource: "status",
    nowMs: NOW,
  });
  const rows = [
    {
      name: "condition Issued with a certificateChain is accepted",
      write: write(issued),
      faults: [],
    },
    {
      name: "condition Denied without a certificate is accepted",
      write: write({ conditions: [condition("Denied")] }),
      faults: [],
    },
    {
      name: "condition Denied with a certificateChain is refused",
      write: write({ ...issued, conditions: [condition("Denied")] }),
      faults: [
        "status: Invalid value: non-condition status fields must be empty when denying or failing the PodCertificateRequest",
      ],
    },
    {
      name: "not at all",
      write: write({ certificateChain: LEAF_PEM }),
      faults: [
        'status: Invalid value: status is immutable unless transitioning to "Issued", "Denied", or "Failed"',
      ],
    },
    {
      name: "the status is immutable after Issued, Denied or Failed",
      write: write(issued, { conditions: [condition("Failed")] }),
      faults: [
        "status: Invalid value: immutable after PodCertificateRequest is issued, denied, or failed",
      ],
    },
    {
      name: "two of the conditions Issued, Denied and Failed are refused",
      write: write({ conditions: [condition("Denied"), condition("Failed", "False")] }),
      faults: [
        'status.conditions.[1].type: Invalid value: "Failed": There may be at most one condition with type "Issued", "Denied", or "Failed"',
        'status.conditions.[1].status: Unsupported value: "False": supported values: "True"',
      ],
    },
    {
      name: "without a certificate",
      write: write({ conditions: [condition("Issued")] }),
      faults: [
        'status.certificateChain: Invalid value: "": issued certificate chain must contain at least one certificate',
      ],
    },
    {
      name: "Issued without notBefore, notAfter and beginRefreshAt is refused",
      write: write({ conditions: [condition("Issued")], certificateChain: LEAF_PEM }),
      faults: [
        "status.notBefore: Required value: must be present and consistent with the issued certificate",
        "status.notAfter: Required value: must be present and consistent with the issued certificate",
        "status.beginRefreshAt: Required value: must be present and in the range [notbefore+10min, notafter-10min]",
      ],
    },
    {
      name: "with the times of another",
      write: write({ ...issued, notAfter: "2030-01-03T00:00:00Z" }),
      faults: [
        'status.notAfter: Invalid value: "2030-01-03T00:00:00Z": must be set to the NotAfter time encoded in the leaf certificate',
      ],
    },
    {
      name: "notBefore more than 5 minutes away from the current time is refused",
      write: { ...write(issued), nowMs: NOW + 5 * 60_000 },
      faults: [
        'status.notBefore: Invalid value: "2030-01-01T00:00:00Z": must be set to within 5 minutes of kube-apiserver\'s current time',
      ],
    },
    {
      name: "with a renewal that is too late",
      write: write({ ...issued, beginRefreshAt: "2030-01-01T23:55:00Z" }),
      faults: [
        'status.beginRefreshAt: Invalid value: "2030-01-01T23:55:00Z": must be at least 10 minutes before status.notAfter',
      ],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(name, () => assert.deepEqual(runKind(kind, write).faults, faults));
  }

  test("the columns show pod, service account, node, signer and state", () => {
    assert.deepEqual(cellsOf(kind, runKind(kind, write(issued))).slice(1), [
      "p",
      "sa",
      "n",
      "example.com/s",
      "Issued",
      "<none>",
    ]);
  });
});
