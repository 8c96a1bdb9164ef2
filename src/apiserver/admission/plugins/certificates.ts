/** CertificateApproval, CertificateSigning and CertificateSubjectRestriction. */
import { isDeepStrictEqual } from "node:util";
import type { Status } from "#api/generated/meta.v1.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { fromPem } from "#lib/der/pem.ts";
import { childrenOf, readDer } from "#lib/der/read-der.ts";
import { type ReadSubject, readSubject } from "#pki/subject.ts";
import type { Authorizer } from "../../authz/authorizer.ts";
import { SYSTEM_MASTERS } from "../../authz/chain.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind, oldObject } from "../requests.ts";

const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";

export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    operations: ["UPDATE"],
    validate(request) {
      if (!objectOfKind(request, certificateSigningRequestKind, ["UPDATE"], "approval")) return;
      return signerFault(authorizer, request, "approve");
    },
  };
}

export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    operations: ["UPDATE"],
    validate(request) {
      const signed = objectOfKind(request, certificateSigningRequestKind, ["UPDATE"], "status");
      if (signed === undefined) return;
      const { status } = oldObject(request, certificateSigningRequestKind);
      const unchanged =
        signed.status.certificate === status.certificate &&
        isDeepStrictEqual(signed.status.conditions ?? [], status.conditions ?? []);
      return unchanged ? undefined : signerFault(authorizer, request, "sign");
    },
  };
}

export const certificateSubjectRestriction: AdmissionPlugin = {
  name: "CertificateSubjectRestriction",
  operations: ["CREATE"],
  validate(request) {
    const asked = objectOfKind(request, certificateSigningRequestKind, ["CREATE"]);
    if (asked?.spec.signerName !== CLIENT_SIGNER) return;
    const subject = certificateRequestSubject(asked.spec.request ?? "");
    if (!subject?.organizations.includes(SYSTEM_MASTERS)) return;
    return refuse(
      request,
      `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`,
    );
  },
};

/** Allowed for the signer itself, or for all signers of its domain. */
async function signerFault(
  authorizer: Authorizer,
  request: AdmissionRequest,
  verb: "approve" | "sign",
): Promise<Status | undefined> {
  const { signerName } = oldObject(request, certificateSigningRequestKind).spec;
  for (const name of [signerName, `${signerName.split("/")[0]}/*`]) {
    const { decision } = await authorizer.authorize({
      user: request.user,
      isResource: true,
      verb,
      path: "",
      group: "certificates.k8s.io",
      version: "*",
      resource: "signers",
      subresource: "",
      namespace: "",
      name,
    });
    if (decision === "allow") return undefined;
  }
  const signer = goQuote(signerName);
  return refuse(request, `user not permitted to ${verb} requests with signerName ${signer}`);
}

/** Undefined if it cannot be read. */
export function certificateRequestSubject(base64: string): ReadSubject | undefined {
  try {
    const pem = Buffer.from(base64, "base64").toString("latin1");
    const [info] = childrenOf(readDer(fromPem(pem)));
    const [, subject] = childrenOf(info!);
    return readSubject(subject!);
  } catch {
    return undefined;
  }
}
