/** How a pod's certificate request ends: issued, denied or failed, once and for all. */

import type {
  PodCertificateRequest,
  PodCertificateRequestStatus,
} from "#api/generated/certificates.v1beta1.ts";
import type { RuleContext } from "#api/kind.ts";
import { timeToMs } from "#api/meta/time.ts";
import { validateConditions } from "#api/validation/conditions.ts";
import {
  type FieldError,
  invalid,
  notSupported,
  OMITTED,
  required,
  tooLong,
} from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { Path } from "#api/validation/path.ts";
import { bytesOfBase64, parsePem } from "#lib/der/pem.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import {
  type CertificateFacts,
  readCertificate,
  readCertificateRequest,
  readPublicKey,
} from "../x509.ts";

const OUTCOMES = ["Issued", "Denied", "Failed"];
const CHAIN_BYTES_MAX = 100 * 1024;
const MINUTE_MS = 60_000;
const CLOCK_SKEW_MS = 5 * MINUTE_MS;
const REFRESH_MARGIN_MS = 10 * MINUTE_MS;
const LIFETIME_MIN_MS = 60 * MINUTE_MS;
const STATUS = Path.of("status");
const CHAIN = STATUS.child("certificateChain");

export function isOutcome(conditionType: string): boolean {
  return OUTCOMES.includes(conditionType);
}

export function validatePodRequestStatus(
  request: PodCertificateRequest,
  oldRequest: PodCertificateRequest,
  { nowMs }: RuleContext,
): FieldError[] {
  const { status } = request;
  const { spec, status: old } = oldRequest;
  const metaErrors = validateKubeMetaUpdate(request, oldRequest);
  if (metaErrors.length > 0) return metaErrors;
  const errors = validateOutcomes(status);
  if (errors.length > 0) return errors;

  if (outcomeOf(old) !== undefined) {
    return unchanged(
      status,
      old,
      "immutable after PodCertificateRequest is issued, denied, or failed",
    );
  }
  switch (outcomeOf(status)) {
    case "Denied":
    case "Failed":
      return unchanged(
        status,
        status.conditions === undefined ? {} : { conditions: status.conditions },
        "non-condition status fields must be empty when denying or failing the PodCertificateRequest",
      );
    case "Issued":
      return validateIssued(status, spec, nowMs);
    default:
      return unchanged(
        status,
        old,
        'status is immutable unless transitioning to "Issued", "Denied", or "Failed"',
      );
  }
}

function unchanged(
  status: PodCertificateRequestStatus,
  wanted: PodCertificateRequestStatus,
  detail: string,
): FieldError[] {
  return semanticEqual(status, wanted) ? [] : [invalid(STATUS, OMITTED, detail)];
}

function outcomeOf({ conditions = [] }: PodCertificateRequestStatus): string | undefined {
  return conditions.find(({ type, status }) => isOutcome(type) && status === "True")?.type;
}

function validateOutcomes({ conditions = [] }: PodCertificateRequestStatus): FieldError[] {
  const errors: FieldError[] = [];
  let outcomes = 0;
  for (const [i, { type, status }] of conditions.entries()) {
    const at = STATUS.child("conditions", `[${i}]`);
    if (!isOutcome(type)) {
      errors.push(notSupported(at.child("type"), type, OUTCOMES));
      continue;
    }
    outcomes++;
    if (outcomes > 1) {
      const detail = 'There may be at most one condition with type "Issued", "Denied", or "Failed"';
      errors.push(invalid(at.child("type"), type, detail));
    }
    if (status !== "True") errors.push(notSupported(at.child("status"), status, ["True"]));
  }
  return [...errors, ...validateConditions(conditions, STATUS.child("conditions"))];
}

function validateIssued(
  status: PodCertificateRequestStatus,
  spec: PodCertificateRequest["spec"],
  nowMs: number,
): FieldError[] {
  const { certificateChain: chain = "" } = status;
  if (utf8Length(chain) > CHAIN_BYTES_MAX) return [tooLong(CHAIN, CHAIN_BYTES_MAX)];
  const [leafBlock, ...others] = parsePem(chain);
  const chainFault = (detail: string) => [invalid(CHAIN, chain, detail)];
  if (leafBlock === undefined) {
    return chainFault("issued certificate chain must contain at least one certificate");
  }
  if (leafBlock.type !== "CERTIFICATE") {
    return chainFault("issued certificate chain must consist entirely of CERTIFICATE PEM blocks");
  }
  const leaf = readCertificate(leafBlock.bytes);
  if (leaf === undefined) return chainFault("leaf certificate does not parse as valid X.509");
  const errors = validateLeafNames(leaf);
  if (leaf.publicKey.identity !== requestedKey(spec)) {
    errors.push(...chainFault("leaf certificate was not issued to the requested public key"));
    return errors;
  }
  errors.push(...validateTimes(status, leaf, spec.maxExpirationSeconds ?? 0, nowMs));
  if (errors.length > 0) return errors;
  for (const { type, bytes } of others) {
    if (type !== "CERTIFICATE") {
      return chainFault("issued certificate chain must consist entirely of CERTFICATE PEM blocks");
    }
    if (readCertificate(bytes) === undefined) {
      return chainFault("intermediate certificate does not parse as valid X.509");
    }
  }
  return [];
}

function requestedKey(spec: PodCertificateRequest["spec"]): string | undefined {
  const request = spec.stubPKCS10Request ?? "";
  if (request === "") return readPublicKey(bytesOfBase64(spec.pkixPublicKey ?? ""))?.identity;
  const read = readCertificateRequest(bytesOfBase64(request));
  return "fault" in read ? undefined : read.publicKey.identity;
}

function validateLeafNames({ dnsNames, emailAddresses }: CertificateFacts): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of dnsNames) {
    const fault = (detail: string) => errors.push(invalid(CHAIN, name, detail));
    if (name === "") fault("leaf certificate should not contain empty DNSName");
    if (name.includes("..")) fault("leaf certificate's DNSName should not contain '..'");
    if (name.startsWith(".") || name.endsWith(".")) {
      fault("leaf certificate's DNSName should not start or end with '.'");
    }
  }
  for (const address of emailAddresses) {
    if (/^[^\s@<>]+@[^\s@<>]+$/.test(address)) continue;
    const detail = "leaf certificate should not contain invalid EmailAddress";
    errors.push(invalid(CHAIN, address, detail));
  }
  return errors;
}

/** The status must repeat the leaf's times; the first fault is enough. */
function validateTimes(
  status: PodCertificateRequestStatus,
  leaf: CertificateFacts,
  expirationSecondsMax: number,
  nowMs: number,
): FieldError[] {
  const { notBefore, notAfter, beginRefreshAt } = status;
  const consistent = "must be present and consistent with the issued certificate";
  const missing: FieldError[] = [];
  if (notBefore === undefined) missing.push(required(STATUS.child("notBefore"), consistent));
  if (notAfter === undefined) missing.push(required(STATUS.child("notAfter"), consistent));
  if (beginRefreshAt === undefined) {
    const detail = "must be present and in the range [notbefore+10min, notafter-10min]";
    missing.push(required(STATUS.child("beginRefreshAt"), detail));
  }
  if (notBefore === undefined || notAfter === undefined || beginRefreshAt === undefined) {
    return missing;
  }
  const at = (field: "notBefore" | "notAfter" | "beginRefreshAt", detail: string) => [
    invalid(STATUS.child(field), status[field], detail),
  ];
  const notBeforeMs = timeToMs(notBefore);
  const notAfterMs = timeToMs(notAfter);
  const refreshMs = timeToMs(beginRefreshAt);
  if (notBeforeMs !== leaf.notBeforeMs) {
    return at("notBefore", "must be set to the NotBefore time encoded in the leaf certificate");
  }
  if (Math.abs(notBeforeMs - nowMs) >= CLOCK_SKEW_MS) {
    return at("notBefore", "must be set to within 5 minutes of kube-apiserver's current time");
  }
  if (notAfterMs !== leaf.notAfterMs) {
    return at("notAfter", "must be set to the NotAfter time encoded in the leaf certificate");
  }
  const lifetimeMs = leaf.notAfterMs - leaf.notBeforeMs;
  const lifetimeNanos = lifetimeMs * 1_000_000;
  if (lifetimeMs < LIFETIME_MIN_MS) {
    return [invalid(CHAIN, lifetimeNanos, "leaf certificate lifetime must be >= 1 hour")];
  }
  if (lifetimeMs > expirationSecondsMax * 1000) {
    const detail = `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${expirationSecondsMax})`;
    return [invalid(CHAIN, lifetimeNanos, detail)];
  }
  if (refreshMs < notBeforeMs + REFRESH_MARGIN_MS) {
    return at("beginRefreshAt", "must be at least 10 minutes after status.notBefore");
  }
  if (refreshMs > notAfterMs - REFRESH_MARGIN_MS) {
    return at("beginRefreshAt", "must be at least 10 minutes before status.notAfter");
  }
  return [];
}
