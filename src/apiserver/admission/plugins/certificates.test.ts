import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { toPem } from "#lib/der/pem.ts";
import { der } from "#lib/der/write-der.ts";
import { encodeSubject } from "#pki/subject.ts";
import { admitWith } from "#testing/admission.ts";
import type { Authorizer } from "../../authz/authorizer.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
} from "./certificates.ts";

const allowing = (...grants: string[]): Authorizer => ({
  name: "list",
  authorize: ({ verb, resource, name }) => ({
    decision: grants.includes(`${verb} ${resource} ${name}`) ? "allow" : "noOpinion",
    reason: "",
  }),
});

const csr = (signerName: string, status: object = {}, request = ""): never =>
  ({ metadata: { name: "r" }, spec: { signerName, request }, status }) as never;
const CLIENT = "kubernetes.io/kube-apiserver-client";

describe("CertificateApproval and CertificateSigning", () => {
  const approved = { conditions: [{ type: "Approved", status: "True" }] };
  const cases = [
    { name: "this signer", grants: ["approve signers acme.io/a"], message: undefined },
    {
      name: "all signers of the domain",
      grants: ["approve signers acme.io/*"],
      message: undefined,
    },
    {
      name: "another signer",
      grants: ["approve signers acme.io/b"],
      message:
        'certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to ' +
        'approve requests with signerName "acme.io/a"',
    },
  ];
  for (const { name, grants, message } of cases) {
    test(`approval with a grant for ${name}`, async () => {
      const { status } = await admitWith(
        certificateApproval(allowing(...grants)),
        certificateSigningRequestKind,
        csr("acme.io/a", approved),
        { old: csr("acme.io/a"), subresource: "approval" },
      );
      assert.equal(status?.message, message);
    });
  }

  test("a status that signs nothing needs no grant", async () => {
    const write = async (next: never, grants: string[] = []) =>
      (
        await admitWith(
          certificateSigning(allowing(...grants)),
          certificateSigningRequestKind,
          next,
          { old: csr("acme.io/a"), subresource: "status" },
        )
      ).status?.message;
    assert.equal(await write(csr("acme.io/a")), undefined);
    assert.match(
      (await write(csr("acme.io/a", { certificate: "abc" }))) ?? "",
      /user not permitted to sign requests with signerName "acme.io\/a"/,
    );
    const signed = csr("acme.io/a", { certificate: "abc" });
    assert.equal(await write(signed, ["sign signers acme.io/a"]), undefined);
  });
});

describe("CertificateSubjectRestriction: system:masters is refused", () => {
  const asking = (...organizations: string[]): string => {
    const info = der.sequence(der.integer(0), encodeSubject({ commonName: "x", organizations }));
    const pem = toPem("CERTIFICATE REQUEST", der.sequence(info));
    return Buffer.from(pem).toString("base64");
  };
  const cases = [
    {
      name: "a request of another organization is allowed",
      signer: CLIENT,
      request: asking("dev"),
      refused: false,
    },
    {
      name: "a request of system:masters is refused",
      signer: CLIENT,
      request: asking("dev", "system:masters"),
      refused: true,
    },
    {
      name: "other signers decide themselves",
      signer: "acme.io/a",
      request: asking("system:masters"),
      refused: false,
    },
  ];
  for (const { name, signer, request, refused } of cases) {
    test(name, async () => {
      const { status } = await admitWith(
        certificateSubjectRestriction,
        certificateSigningRequestKind,
        csr(signer, {}, request),
      );
      assert.equal(status !== undefined, refused);
    });
  }
});
