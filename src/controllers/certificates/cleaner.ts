/** Deletes certificate signing requests that have expired: issued, denied, failed or long pending. */

import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import { certificateSigningRequestKind } from "#api/kinds/certificates/v1/certificate-signing-request.ts";
import { readCertificate } from "#api/kinds/certificates/x509.ts";
import { timeToMs } from "#api/meta/time.ts";
import { bytesOfBase64, parsePem } from "#lib/der/pem.ts";
import { defineController, idle, type Outcome, ownKey, recheckIn } from "#runtime/controller.ts";
import { remove } from "#runtime/writes.ts";
import { isIssued, saysCondition } from "./requests.ts";

const HOUR_MS = 3_600_000;
const SETTLED_MS = HOUR_MS;
const PENDING_MS = 24 * HOUR_MS;

export const certificateCleaner = defineController<CertificateSigningRequest | undefined>({
  name: "certificatesigningrequest-cleaner-controller",
  rule: "requests that were decided, expired or left undecided are deleted after their time",
  feeds: [{ kind: certificateSigningRequestKind, keys: ownKey }],
  observe: (caches, { name }) => caches(certificateSigningRequestKind).get(undefined, name),
  decide,
});

function decide(request: CertificateSigningRequest | undefined, nowMs: number): Outcome {
  if (request === undefined || request.metadata.deletionTimestamp !== undefined) return idle;
  const dueMs = Math.min(...deadlinesOf(request));
  if (dueMs === Number.POSITIVE_INFINITY) return idle;
  if (nowMs <= dueMs) return recheckIn(dueMs - nowMs + 1);
  return { writes: [remove(certificateSigningRequestKind, request)] };
}

function deadlinesOf(request: CertificateSigningRequest): readonly number[] {
  const { conditions = [] } = request.status;
  const issued = isIssued(request);
  const createdAt = request.metadata.creationTimestamp;
  const deadlines = conditions.map(({ type, lastUpdateTime }) => {
    if (type === "Denied" || type === "Failed") return after(lastUpdateTime, SETTLED_MS);
    if (type === "Approved") return after(lastUpdateTime, issued ? SETTLED_MS : PENDING_MS);
    return Number.POSITIVE_INFINITY;
  });
  if (conditions.length === 0) deadlines.push(after(createdAt, PENDING_MS));
  if (issued && saysCondition(request, "Approved")) deadlines.push(expiryOf(request));
  return deadlines;
}

function after(time: string | null | undefined, delayMs: number): number {
  if (time === undefined || time === null) return Number.POSITIVE_INFINITY;
  return timeToMs(time) + delayMs;
}

function expiryOf({ status }: CertificateSigningRequest): number {
  const text = new TextDecoder().decode(bytesOfBase64(status.certificate ?? ""));
  const [block] = parsePem(text);
  const certificate = block && readCertificate(block.bytes);
  return certificate?.notAfterMs ?? Number.POSITIVE_INFINITY;
}
