/**
 * The life of a pod's certificate, one record for each podCertificate source:
 *
 *     initial → wait → fresh ⇄ refresh
 *                 ↘ denied, failed ↙
 *
 * Pure: what was seen of the request and the time lead to the next state. Times are of the wall
 * clock, as certificates are. A denied or failed request is final for the pod.
 */
import type { PodCertificateRequest } from "#api/generated/certificates.v1beta1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { timeToMs } from "#api/meta/time.ts";
import { parsePem, toPem } from "#lib/der/pem.ts";

/** A request that is missing in the cache for this long after its creation counts as deleted. */
const ASSUME_DELETED_MS = 10 * 60_000;
/** A certificate is overdue for refresh so long after its beginRefreshAt. */
const OVERDUE_MS = 10 * 60_000;
const REFRESH_RETRY_MS = 60_000;
/** Spreads the requests of many pods. */
export const JITTER_MAX_MS = 5 * 60_000;

export interface IssuedCredentials {
  /** PKCS#8 in PEM form. */
  readonly key: string;
  readonly chain: string;
  /** With jitter. */
  readonly refreshAtMs: number;
  readonly notAfterMs: number;
  /** A refresh could not be asked for; it is tried again then. */
  readonly retryAtMs?: number;
  readonly saidOverdue: boolean;
  readonly saidExpired: boolean;
}

/** A request that was made and has no outcome yet. */
export interface OpenRequest {
  readonly name: string;
  readonly key: string;
  readonly abandonAtMs: number;
}

export type CertificateState =
  | { readonly at: "initial" }
  | { readonly at: "wait"; readonly open: OpenRequest }
  | { readonly at: "fresh"; readonly issued: IssuedCredentials }
  | { readonly at: "refresh"; readonly issued: IssuedCredentials; readonly open: OpenRequest }
  | { readonly at: "denied" | "failed"; readonly reason: string; readonly message: string };

export interface CertificateEvent {
  readonly reason: string;
  readonly message: string;
}

export interface CertificateStep {
  readonly state: CertificateState;
  /** A new request is due. */
  readonly needsRequest: boolean;
  readonly events: readonly CertificateEvent[];
}

/** `request`: the open one, as the server has it; undefined if it is not seen. */
export function decideCertificate(
  state: CertificateState,
  request: PodCertificateRequest | undefined,
  nowMs: number,
  jitterMs: number,
): CertificateStep {
  switch (state.at) {
    case "initial":
      return step(state, true);
    case "denied":
    case "failed":
      return step(state);
    case "fresh": {
      if (nowMs < refreshDueMs(state.issued)) return step(state);
      const late = lateness(state.issued, nowMs);
      return step({ at: "fresh", issued: late.issued }, true, late.events);
    }
    case "wait":
    case "refresh":
      return decideOpen(state, request, nowMs, jitterMs);
  }
}

export function openRequest(
  { metadata }: PodCertificateRequest,
  key: string,
  nowMs: number,
  jitterMs: number,
): OpenRequest {
  const created = metadata.creationTimestamp;
  const createdMs = created ? timeToMs(created) : nowMs;
  return {
    name: metadata.name ?? "",
    key,
    abandonAtMs: createdMs + ASSUME_DELETED_MS + jitterMs,
  };
}

export function withRequest(state: CertificateState, open: OpenRequest): CertificateState {
  if (state.at !== "fresh" && state.at !== "refresh") return { at: "wait", open };
  return { at: "refresh", issued: state.issued, open };
}

/** After a refresh that could not be asked for. What was issued before stays in use. */
export function postponed(state: CertificateState, nowMs: number): CertificateState {
  if (state.at !== "fresh") return state;
  return { at: "fresh", issued: { ...state.issued, retryAtMs: nowMs + REFRESH_RETRY_MS } };
}

/** The credentials, or why there are none, in upstream's words. */
export function credentialsOf(
  state: CertificateState,
):
  | { readonly ok: true; readonly issued: IssuedCredentials }
  | { readonly ok: false; readonly why: string } {
  switch (state.at) {
    case "initial":
    case "wait":
      return { ok: false, why: "credential bundle is not issued yet" };
    case "fresh":
    case "refresh":
      return { ok: true, issued: state.issued };
    case "denied":
    case "failed": {
      const outcome = `reason=${goQuote(state.reason)} message=${goQuote(state.message)}`;
      return { ok: false, why: `PodCertificateRequest was permanently ${state.at}: ${outcome}` };
    }
  }
}

/** When the state has to be looked at again though nothing happened. */
export function nextLookMs(state: CertificateState): number | undefined {
  if (state.at === "wait") return state.open.abandonAtMs;
  if (state.at === "fresh") return refreshDueMs(state.issued);
  if (state.at !== "refresh") return undefined;
  const { issued, open } = state;
  const overdueMs = issued.saidOverdue ? [] : [issued.refreshAtMs + OVERDUE_MS];
  const expiredMs = issued.saidExpired ? [] : [issued.notAfterMs];
  return Math.min(open.abandonAtMs, ...overdueMs, ...expiredMs);
}

/** As the metric kubelet_pod_certificate_states names it. */
export function metricStateOf(state: CertificateState, nowMs: number): string {
  if (state.at === "initial" || state.at === "wait") return "not_yet_issued";
  if (!("issued" in state)) return state.at;
  if (nowMs > state.issued.notAfterMs) return "expired";
  return nowMs > state.issued.refreshAtMs + OVERDUE_MS ? "overdue_for_refresh" : "fresh";
}

function refreshDueMs({ refreshAtMs, retryAtMs = 0 }: IssuedCredentials): number {
  return Math.max(refreshAtMs, retryAtMs);
}

function decideOpen(
  state: Extract<CertificateState, { readonly open: OpenRequest }>,
  request: PodCertificateRequest | undefined,
  nowMs: number,
  jitterMs: number,
): CertificateStep {
  if (request === undefined) {
    if (nowMs <= state.open.abandonAtMs) return waiting(state, nowMs);
    if (state.at === "wait") return step({ at: "initial" }, true);
    return step({ at: "fresh", issued: state.issued }, true);
  }
  const { namespace = "", name = "" } = request.metadata;
  for (const { type, reason, message } of request.status.conditions ?? []) {
    const outcome = `reason=${goQuote(reason)}, message=${goQuote(message)}`;
    const what = `PodCertificateRequest ${namespace}/${name}`;
    if (type === "Denied") {
      const event = { reason: "Denied", message: `${what} was denied, ${outcome}` };
      return step({ at: "denied", reason, message }, false, [event]);
    }
    if (type === "Failed") {
      const event = { reason: "Failed", message: `${what} failed, ${outcome}` };
      return step({ at: "failed", reason, message }, false, [event]);
    }
    if (type === "Issued") {
      return step({ at: "fresh", issued: issuedBy(request, state.open.key, jitterMs) });
    }
  }
  return waiting(state, nowMs);
}

function issuedBy(
  { status }: PodCertificateRequest,
  key: string,
  jitterMs: number,
): IssuedCredentials {
  return {
    key,
    chain: cleanChain(status.certificateChain ?? ""),
    refreshAtMs: timeToMs(status.beginRefreshAt ?? "") + jitterMs,
    notAfterMs: timeToMs(status.notAfter ?? ""),
    saidOverdue: false,
    saidExpired: false,
  };
}

/** Only certificates: no headers, no text between blocks. */
function cleanChain(chain: string): string {
  return parsePem(chain)
    .map(({ bytes }) => toPem("CERTIFICATE", Buffer.from(bytes)))
    .join("");
}

function waiting(
  state: Extract<CertificateState, { readonly open: OpenRequest }>,
  nowMs: number,
): CertificateStep {
  if (state.at === "wait") return step(state);
  const late = lateness(state.issued, nowMs);
  return step({ ...state, issued: late.issued }, false, late.events);
}

/** Each is said once for a certificate. */
function lateness(
  issued: IssuedCredentials,
  nowMs: number,
): { readonly issued: IssuedCredentials; readonly events: readonly CertificateEvent[] } {
  const isOverdue = nowMs > issued.refreshAtMs + OVERDUE_MS;
  const isExpired = nowMs > issued.notAfterMs;
  const events: CertificateEvent[] = [];
  if (isOverdue && !issued.saidOverdue) {
    const message = "PodCertificate refresh overdue";
    events.push({ reason: "CertificateOverdueForRefresh", message });
  }
  if (isExpired && !issued.saidExpired) {
    events.push({ reason: "CertificateExpired", message: "PodCertificate expired" });
  }
  return {
    issued: {
      ...issued,
      saidOverdue: issued.saidOverdue || isOverdue,
      saidExpired: issued.saidExpired || isExpired,
    },
    events,
  };
}

function step(
  state: CertificateState,
  needsRequest = false,
  events: readonly CertificateEvent[] = [],
): CertificateStep {
  return { state, needsRequest, events };
}
