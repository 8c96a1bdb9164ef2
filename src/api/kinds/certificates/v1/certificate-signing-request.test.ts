import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import { LEAF_PEM, REQUEST_PEM } from "#api/testing/certificates.ts";
import { cellsOf, runKind } from "#api/testing/run-kind.ts";
import { certificateSigningRequestKind as kind } from "./certificate-signing-request.ts";

const made = {
  request: btoa(REQUEST_PEM),
  signerName: "kubernetes.io/kube-apiserver-client",
  usages: ["client auth"],
};
const create = (spec: object) => ({ object: { spec: { ...made, ...spec } } });
const condition = (type: string, fields: object = {}) => ({
  type,
  status: "True",
  lastUpdateTime: "2030-01-01T00:00:00Z",
  lastTransitionTime: "2030-01-01T00:00:00Z",
  ...fields,
});
const statusWrite = (subresource: string, status: object, old: object = {}) => ({
  object: { spec: made, status },
  old: { spec: made, status: old },
  subresource,
});

describe("certificate signing requests", () => {
  const rows = [
    {
      name: "no request",
      write: create({ request: btoa("x") }),
      faults: [
        `spec.request: Invalid value: "${btoa("x")}": PEM block type must be CERTIFICATE REQUEST`,
      ],
    },
    {
      name: "a certificate for a request",
      write: create({ request: btoa(LEAF_PEM) }),
      faults: [
        `spec.request: Invalid value: "${btoa(LEAF_PEM)}": PEM block type must be CERTIFICATE REQUEST`,
      ],
    },
    {
      name: "the signer of old",
      write: create({ signerName: "kubernetes.io/legacy-unknown" }),
      faults: [
        'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
      ],
    },
    {
      name: "no signer, no usages",
      write: create({ signerName: "", usages: [] }),
      faults: ["spec.usages: Required value", "spec.signerName: Required value"],
    },
    {
      name: "a signer without a domain",
      write: create({ signerName: "signer" }),
      faults: [
        "spec.signerName: Invalid value: \"signer\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
      ],
    },
    {
      name: "a signer of a short domain",
      write: create({ signerName: "a/b" }),
      faults: [
        'spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots',
      ],
    },
    {
      name: "a moment",
      write: create({ expirationSeconds: 599 }),
      faults: [
        "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
      ],
    },
    {
      name: "a usage twice",
      write: create({ usages: ["client auth", "client auth"] }),
      faults: ['spec.usages[1]: Duplicate value: "client auth"'],
    },
    {
      name: "approval where it is not given",
      write: statusWrite("status", { conditions: [condition("Approved")] }),
      faults: ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
    },
    {
      name: "a certificate with an approval",
      write: statusWrite("status", { certificate: btoa("x") }),
      faults: [
        'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
      ],
    },
    {
      name: "another certificate",
      write: statusWrite(
        "status",
        { certificate: btoa(LEAF_PEM) },
        { certificate: btoa(`${LEAF_PEM}\n`) },
      ),
      faults: [
        "status.certificate: Forbidden: updates may not modify existing certificate content",
      ],
    },
    {
      name: "yes and no",
      write: statusWrite("approval", { conditions: [condition("Approved"), condition("Denied")] }),
      faults: [
        'status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
      ],
    },
    {
      name: "an approval taken back",
      write: statusWrite("approval", {}, { conditions: [condition("Approved")] }),
      faults: [
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
      ],
    },
    {
      name: "an approval that is none",
      write: statusWrite("approval", { conditions: [condition("Approved", { status: "False" })] }),
      faults: ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
    },
  ];
  for (const { name, write, faults } of rows) {
    test(`refuse ${name}`, () => assert.deepEqual(runKind(kind, write).faults, faults));
  }

  test("what a server finds in the signature is a fault of the request", () => {
    const signatures = {
      request: () => "x509: ECDSA verification failure",
      proof: () => undefined,
      publicHalf: () => undefined,
    };
    const { faults } = runKind(kind, { ...create({}), context: { signatures } });
    assert.equal(faults.length, 1);
    assert.match(faults[0]!, /^spec\.request: .*: x509: ECDSA verification failure$/);
  });

  test("spec.username, groups and extra are those of the user who creates the request", () => {
    const { spec } = runKind(kind, {
      ...create({ username: "root", groups: ["system:masters"], uid: "0" }),
      context: { user: { username: "me", groups: ["g"], extra: { a: ["b"] } } },
    }).object as CertificateSigningRequest;
    assert.deepEqual(
      [spec.username, spec.groups, spec.uid, spec.extra],
      ["me", ["g"], undefined, { a: ["b"] }],
    );
  });

  test("an approval gets its times and touches nothing else", () => {
    const bare = { type: "Approved", status: "True" };
    const { object, faults } = runKind(kind, {
      ...statusWrite("approval", { conditions: [bare], certificate: btoa(LEAF_PEM) }),
      nowMs: Date.UTC(2030, 0, 1),
    });
    assert.deepEqual(faults, []);
    assert.deepEqual((object as CertificateSigningRequest).status, {
      conditions: [condition("Approved")],
    });
  });

  test("a status write cannot change when something was approved", () => {
    const approved = condition("Approved");
    const { object, faults } = runKind(
      kind,
      statusWrite(
        "status",
        {
          conditions: [{ ...approved, lastUpdateTime: "2031-01-01T00:00:00Z", reason: "other" }],
          certificate: btoa(LEAF_PEM),
        },
        { conditions: [approved] },
      ),
    );
    assert.deepEqual(faults, []);
    assert.deepEqual((object as CertificateSigningRequest).status, {
      conditions: [approved],
      certificate: btoa(LEAF_PEM),
    });
  });

  test("the columns show signer, requested duration and condition", () => {
    const outcome = runKind(kind, {
      ...statusWrite(
        "status",
        { conditions: [condition("Approved")], certificate: btoa(LEAF_PEM) },
        { conditions: [condition("Approved")] },
      ),
    });
    assert.deepEqual(cellsOf(kind, outcome).slice(1), [
      "<unknown>",
      made.signerName,
      "",
      "<none>",
      "Approved,Issued",
    ]);
    assert.equal(cellsOf(kind, runKind(kind, create({ expirationSeconds: 3600 })))[4], "60m");
    assert.equal(cellsOf(kind, runKind(kind, create({})))[5], "Pending");
  });
});
