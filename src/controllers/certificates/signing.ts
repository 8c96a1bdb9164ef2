/** Issues the certificates of approved requests, for the signers that the cluster itself keeps. */

import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from "#api/generated/certificates.v1.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { timeFromMs } from "#api/meta/time.ts";
import {
  type Controller,
  defineController,
  idle,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { updateStatus } from "#runtime/writes.ts";
import {
  isIssued,
  kubeletClientFault,
  kubeletServingFault,
  type ParsedRequest,
  parseRequest,
  SIGNER,
  saysCondition,
} from "./requests.ts";

/** Twice what certificates are dated back by. */
const LIFETIME_MIN_MS = 600_000;

export interface CertificateSigning {
  /** No certificate lives longer. */
  readonly lifetimeMaxMs: number;
  /** By signer name. Requests for other signers are ignored. */
  readonly signers: Readonly<Record<string, SignCertificate>>;
}

/** Answers the certificate in PEM form; throws if the request was not signed with its own key. */
export type SignCertificate = (request: {
  readonly der: Uint8Array;
  readonly usages: readonly string[];
  readonly lifetimeMs: number;
}) => string;

interface State {
  readonly request: CertificateSigningRequest;
  readonly result: Result;
}

type Result =
  | { readonly is: "not ours" }
  | { readonly is: "invalid"; readonly fault: string }
  | { readonly is: "signed"; readonly certificatePem: string };

export function certificateSigning(signing: CertificateSigning): Controller<State | undefined> {
  return defineController<State | undefined>({
    name: "certificatesigningrequest-signing-controller",
    rule: "an approved request of a signer that this cluster has gets its certificate; one that cannot be signed is marked Failed",
    component: "csrsigning",
    feeds: [{ kind: certificateSigningRequestKind, keys: ownKey }],
    observe: (caches, { name }) => {
      const request = caches(certificateSigningRequestKind).get(undefined, name);
      return request === undefined ? undefined : { request, result: resultOf(request, signing) };
    },
    decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
  });
}

function resultOf(request: CertificateSigningRequest, signing: CertificateSigning): Result {
  const { signerName, usages = [], expirationSeconds } = request.spec;
  const sign = signing.signers[signerName];
  if (sign === undefined || !awaitsSignature(request)) return { is: "not ours" };
  const parsed = parseRequest(request);
  const fault = faultOf(signerName, parsed, usages);
  if (fault !== undefined) return { is: "invalid", fault };
  const lifetimeMs = lifetimeOf(expirationSeconds, signing.lifetimeMaxMs);
  return { is: "signed", certificatePem: sign({ der: parsed.der, usages, lifetimeMs }) };
}

function awaitsSignature(request: CertificateSigningRequest): boolean {
  return (
    !isIssued(request) &&
    saysCondition(request, "Approved") &&
    !saysCondition(request, "Denied") &&
    !(request.status.conditions ?? []).some(
      ({ type, status }) => type === "Failed" && status !== "False" && status !== "Unknown",
    )
  );
}

/** Why the signer will not sign this. */
function faultOf(
  signerName: string,
  { names }: ParsedRequest,
  usages: readonly string[],
): string | undefined {
  switch (signerName) {
    case SIGNER.kubeletServing:
      return kubeletServingFault(names, usages);
    case SIGNER.kubeletClient:
      return kubeletClientFault(names, usages);
    case SIGNER.apiServerClient:
      return clientUsagesFault(usages);
    default:
      return undefined;
  }
}

function clientUsagesFault(usages: readonly string[]): string | undefined {
  const allowed = ["digital signature", "key encipherment", "client auth"];
  const other = usages.find((usage) => !allowed.includes(usage));
  if (other !== undefined) return `invalid usage for client certificate: ${other}`;
  if (usages.includes("client auth")) return undefined;
  return "missing required usage for client certificate: client auth";
}

export function lifetimeOf(expirationSeconds: number | undefined, lifetimeMaxMs: number): number {
  if (expirationSeconds === undefined) return lifetimeMaxMs;
  const askedMs = expirationSeconds * 1000;
  return askedMs > lifetimeMaxMs ? lifetimeMaxMs : Math.max(askedMs, LIFETIME_MIN_MS);
}

function decide({ request, result }: State, nowMs: number): Outcome {
  if (result.is === "not ours") return idle;
  if (result.is === "signed")
    return statusOutcome(request, { certificate: btoa(result.certificatePem) });
  const failed: CertificateSigningRequestCondition = {
    type: "Failed",
    status: "True",
    reason: "SignerValidationFailure",
    message: result.fault,
    lastUpdateTime: timeFromMs(nowMs),
  };
  return statusOutcome(request, { conditions: [...(request.status.conditions ?? []), failed] });
}

function statusOutcome(
  request: CertificateSigningRequest,
  status: Partial<CertificateSigningRequest["status"]>,
): Outcome {
  const object = { ...request, status: { ...request.status, ...status } };
  return { writes: [updateStatus(certificateSigningRequestKind, object)] };
}
