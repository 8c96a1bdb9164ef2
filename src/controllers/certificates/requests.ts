/** What the controllers of certificate signing requests ask of one. */

import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import { type RequestNames, readRequestNames } from "#api/kinds/certificates/request-names.ts";
import { bytesOfBase64, parsePem } from "#lib/der/pem.ts";

export const SIGNER = {
  apiServerClient: "kubernetes.io/kube-apiserver-client",
  kubeletClient: "kubernetes.io/kube-apiserver-client-kubelet",
  kubeletServing: "kubernetes.io/kubelet-serving",
  legacyUnknown: "kubernetes.io/legacy-unknown",
} as const;

export interface ParsedRequest {
  readonly der: Uint8Array;
  readonly names: RequestNames;
}

export function parseRequest({ spec }: CertificateSigningRequest): ParsedRequest {
  const text = new TextDecoder().decode(bytesOfBase64(spec.request));
  const [block] = parsePem(text);
  const names = block === undefined ? undefined : readRequestNames(block.bytes);
  if (block?.type !== "CERTIFICATE REQUEST" || names === undefined) {
    throw new Error("spec.request is not a certificate request in PEM form");
  }
  return { der: block.bytes, names };
}

export function isIssued({ status }: CertificateSigningRequest): boolean {
  return (status.certificate ?? "") !== "";
}

export function saysCondition({ status }: CertificateSigningRequest, type: string): boolean {
  return (status.conditions ?? []).some((condition) => condition.type === type);
}

/** What keeps the request from being one of a kubelet for its client certificate. */
export function kubeletClientFault(
  names: RequestNames,
  usages: readonly string[],
): string | undefined {
  if (!isNodes(names)) return "subject organization is not system:nodes";
  if (names.dnsNames.length > 0) return "DNS subjectAltNames are not allowed";
  if (names.emailAddresses.length > 0) return "Email subjectAltNames are not allowed";
  if (names.ipAddresses.length > 0) return "IP subjectAltNames are not allowed";
  if (names.uris.length > 0) return "URI subjectAltNames are not allowed";
  return nodeNameFault(names) ?? usagesFault(usages, "client auth");
}

/** What keeps the request from being one of a kubelet for its serving certificate. */
export function kubeletServingFault(
  names: RequestNames,
  usages: readonly string[],
): string | undefined {
  if (!isNodes(names)) return "subject organization is not system:nodes";
  if (names.dnsNames.length === 0 && names.ipAddresses.length === 0) {
    return "DNS or IP subjectAltName is required";
  }
  if (names.emailAddresses.length > 0) return "Email subjectAltNames are not allowed";
  if (names.uris.length > 0) return "URI subjectAltNames are not allowed";
  return usagesFault(usages, "server auth") ?? nodeNameFault(names);
}

function isNodes({ organizations }: RequestNames): boolean {
  return organizations.length === 1 && organizations[0] === "system:nodes";
}

function nodeNameFault({ commonName }: RequestNames): string | undefined {
  if (commonName.startsWith("system:node:")) return undefined;
  return "subject common name does not begin with system:node:";
}

/** Key encipherment is for RSA keys only, so it may be left out. */
function usagesFault(usages: readonly string[], purpose: string): string | undefined {
  const asked = new Set(usages);
  const required = ["digital signature", purpose];
  const allowed = new Set([...required, "key encipherment"]);
  const isRight = required.every((u) => asked.has(u)) && [...asked].every((u) => allowed.has(u));
  return isRight ? undefined : `usages did not match [${[...allowed].sort().join(" ")}]`;
}
