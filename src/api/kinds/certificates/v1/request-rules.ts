/** What a certificate signing request must be, and what each writer may change in its status. */
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
  CertificateSigningRequestStatus,
} from "#api/generated/certificates.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { validateOneOf } from "#api/validation/faults.ts";
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  required,
} from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import { Path } from "#api/validation/path.ts";
import { bytesOfBase64, parsePem } from "#lib/der/pem.ts";
import { unifiedDiff } from "#lib/text/unified-diff.ts";
import { validateSignerName } from "../signer-name.ts";
import { readCertificate, readCertificateRequest } from "../x509.ts";

const EXPIRATION_SECONDS_MIN = 600;
const LEGACY_SIGNER = "kubernetes.io/legacy-unknown";
/** Conditions that are said or not said; there is no saying that they are not so. */
const ONLY_TRUE = ["Approved", "Denied", "Failed"];
const CONDITION_STATUSES = ["False", "True", "Unknown"];
const USAGES = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];

/** Faults of the stored object that an update lets pass. */
export interface RequestTolerance {
  readonly bothApprovedAndDenied: boolean;
  readonly legacySigner: boolean;
  readonly duplicateConditions: boolean;
  readonly emptyConditionType: boolean;
  readonly anyCertificate: boolean;
  readonly duplicateUsages: boolean;
  readonly unknownUsages: boolean;
}

export function toleranceOf(
  request: CertificateSigningRequest | undefined,
  old: CertificateSigningRequest | undefined,
): RequestTolerance {
  const types = (old?.status.conditions ?? []).map(({ type }) => type);
  const usages = old?.spec.usages ?? [];
  const before = old?.status.certificate ?? "";
  return {
    bothApprovedAndDenied: types.includes("Approved") && types.includes("Denied"),
    legacySigner: old?.spec.signerName === LEGACY_SIGNER,
    duplicateConditions: new Set(types).size < types.length,
    emptyConditionType: types.includes(""),
    anyCertificate:
      old !== undefined &&
      (before === (request?.status.certificate ?? "") || certificateFault(before) !== undefined),
    duplicateUsages: new Set(usages).size < usages.length,
    unknownUsages: usages.some((usage) => !USAGES.includes(usage)),
  };
}

export function validateRequest(
  { spec, status }: CertificateSigningRequest,
  tolerance: RequestTolerance,
  context: RuleContext,
): FieldError[] {
  const path = Path.of("spec");
  const errors: FieldError[] = [];
  const fault = requestFault(spec.request ?? "", context);
  if (fault !== undefined) errors.push(invalid(path.child("request"), spec.request, fault));
  errors.push(...validateUsages(spec.usages ?? [], tolerance, path.child("usages")));
  const signerPath = path.child("signerName");
  if (spec.signerName === LEGACY_SIGNER && !tolerance.legacySigner) {
    const detail = "the legacy signerName is not allowed via this API version";
    errors.push(invalid(signerPath, spec.signerName, detail));
  } else {
    errors.push(...validateSignerName(spec.signerName, signerPath));
  }
  const { expirationSeconds: expiration } = spec;
  if (expiration !== undefined && expiration < EXPIRATION_SECONDS_MIN) {
    const detail = "may not specify a duration less than 600 seconds (10 minutes)";
    errors.push(invalid(path.child("expirationSeconds"), expiration, detail));
  }
  errors.push(...validateConditions(status.conditions ?? [], tolerance));
  const certificate = certificateFault(status.certificate ?? "");
  if (!tolerance.anyCertificate && certificate !== undefined) {
    const at = Path.of("status", "certificate");
    errors.push(invalid(at, "<certificate data>", certificate));
  }
  return errors;
}

function requestFault(base64: string, { signatures }: RuleContext): string | undefined {
  const [block] = parsePem(textOfBase64(base64));
  if (block?.type !== "CERTIFICATE REQUEST") return "PEM block type must be CERTIFICATE REQUEST";
  const request = readCertificateRequest(block.bytes);
  return "fault" in request ? request.fault : signatures?.request(block.bytes);
}

function validateUsages(
  usages: readonly string[],
  tolerance: RequestTolerance,
  path: Path,
): FieldError[] {
  if (usages.length === 0) return [required(path, "")];
  const errors: FieldError[] = [];
  if (!tolerance.unknownUsages) {
    errors.push(...usages.flatMap((usage, i) => validateOneOf(path.index(i), usage, USAGES)));
  }
  if (!tolerance.duplicateUsages) {
    const repeated = usages.flatMap((usage, i) => (usages.indexOf(usage) < i ? [i] : []));
    errors.push(...repeated.map((i) => duplicate(path.index(i), usages[i])));
  }
  return errors;
}

function validateConditions(
  conditions: readonly CertificateSigningRequestCondition[],
  tolerance: RequestTolerance,
): FieldError[] {
  const path = Path.of("status", "conditions");
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, { type, status }] of conditions.entries()) {
    const at = path.index(i);
    if (type === "" && !tolerance.emptyConditionType) errors.push(required(at.child("type"), ""));
    const allowed = ONLY_TRUE.includes(type) ? ["True"] : CONDITION_STATUSES;
    if (status === "") errors.push(required(at.child("status"), ""));
    else errors.push(...validateOneOf(at.child("status"), status, allowed));
    const opposite = { Approved: "Denied", Denied: "Approved" }[type];
    if (!tolerance.bothApprovedAndDenied && opposite !== undefined && seen.has(opposite)) {
      const detail = "Approved and Denied conditions are mutually exclusive";
      errors.push(invalid(path, type, detail));
    }
    if (!tolerance.duplicateConditions && seen.has(type)) {
      errors.push(duplicate(at.child("type"), type));
    }
    seen.add(type);
  }
  return errors;
}

function certificateFault(base64: string): string | undefined {
  if (base64 === "") return undefined;
  const blocks = parsePem(textOfBase64(base64));
  if (blocks.length === 0) return "must contain at least one CERTIFICATE PEM block";
  for (const { type, headers, bytes } of blocks) {
    if (type !== "CERTIFICATE") {
      return `only CERTIFICATE PEM blocks are allowed, found ${goQuote(type)}`;
    }
    if (Object.keys(headers).length > 0) return "no PEM block headers are permitted";
    if (bytes.length === 0) return "found CERTIFICATE PEM block containing 0 certificates";
    if (readCertificate(bytes) === undefined) return "x509: malformed certificate";
  }
  return undefined;
}

/** What has been said stays said; approvals and certificates have their own writers. */
export function validateStatusChange(
  status: CertificateSigningRequestStatus,
  old: CertificateSigningRequestStatus,
  may: { readonly certificate?: boolean; readonly approval?: boolean },
): FieldError[] {
  const path = Path.of("status", "conditions");
  const errors: FieldError[] = [];
  for (const type of ["Approved", "Denied", "Failed"]) {
    if (conditionsOf(status, type).length < conditionsOf(old, type).length) {
      errors.push(forbidden(path, `updates may not remove a condition of type "${type}"`));
    }
  }
  for (const type of may.approval ? [] : ["Approved", "Denied"]) {
    const now = conditionsOf(status, type);
    const before = conditionsOf(old, type);
    if (now.length > before.length) {
      errors.push(forbidden(path, `updates may not add a condition of type "${type}"`));
    } else if (now.length === before.length && !semanticEqual(now, before)) {
      const diff = unifiedDiff(conditionsText(before), conditionsText(now));
      errors.push(forbidden(path, `updates may not modify a condition of type "${type}"\n${diff}`));
    }
  }
  const before = old.certificate ?? "";
  if (before !== (status.certificate ?? "")) {
    const at = Path.of("status", "certificate");
    if (!may.certificate) {
      errors.push(forbidden(at, "updates may not set certificate content"));
    } else if (before !== "") {
      errors.push(forbidden(at, "updates may not modify existing certificate content"));
    }
  }
  return errors;
}

function conditionsOf({ conditions = [] }: CertificateSigningRequestStatus, type: string) {
  return conditions.filter((condition) => condition.type === type);
}

function conditionsText(conditions: readonly CertificateSigningRequestCondition[]): string {
  const type = "[]certificates.v1.CertificateSigningRequestCondition";
  return JSON.stringify(internalForm(type, conditions), undefined, " ");
}

function textOfBase64(base64: string): string {
  return new TextDecoder().decode(bytesOfBase64(base64));
}
