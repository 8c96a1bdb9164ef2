import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { PodCertificateRequest } from "#api/generated/certificates.v1beta1.ts";
import { timeFromMs } from "#api/meta/time.ts";
import {
  type CertificateState,
  credentialsOf,
  decideCertificate,
  type IssuedCredentials,
  metricStateOf,
  nextLookMs,
  openRequest,
  postponed,
  withRequest,
} from "./pod-certificate.ts";

const MINUTE = 60_000;
const START = Date.parse("2026-01-01T00:00:00Z");
const PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

const open = openRequest(request(), "KEY", START, 1_000);
const issued: IssuedCredentials = {
  ...{ key: "OLD", chain: PEM, saidOverdue: false, saidExpired: false },
  refreshAtMs: START,
  notAfterMs: START + 30 * MINUTE,
};

function request(type?: string, reason = "R", message = "M"): PodCertificateRequest {
  const time = timeFromMs(START);
  const conditions =
    type === undefined ? [] : [{ type, status: "True", reason, message, lastTransitionTime: time }];
  return {
    metadata: { namespace: "ns", name: "req-1", creationTimestamp: time },
    spec: {} as PodCertificateRequest["spec"],
    status: {
      conditions,
      certificateChain: `text between\n${PEM.replace("AAAA", "Header: x\n\nAAAA")}`,
      beginRefreshAt: timeFromMs(START + 40 * MINUTE),
      notAfter: timeFromMs(START + 60 * MINUTE),
    },
  };
}

interface Row {
  readonly name: string;
  readonly state: CertificateState;
  readonly request?: PodCertificateRequest;
  readonly nowMs?: number;
  readonly at: CertificateState["at"];
  readonly needsRequest?: boolean;
  readonly events?: readonly string[];
}

const rows: Row[] = [
  {
    name: "initial: a request is needed",
    state: { at: "initial" },
    at: "initial",
    needsRequest: true,
  },
  {
    name: "wait: a request without outcome",
    state: { at: "wait", open },
    request: request(),
    at: "wait",
  },
  { name: "wait: not seen yet", state: { at: "wait", open }, at: "wait" },
  {
    name: "wait: not seen for more than ten minutes and jitter: asked anew",
    ...{ state: { at: "wait", open }, nowMs: START + 10 * MINUTE + 1_001, at: "initial" },
    needsRequest: true,
  },
  { name: "wait: issued", state: { at: "wait", open }, request: request("Issued"), at: "fresh" },
  {
    name: "wait: denied",
    ...{ state: { at: "wait", open }, request: request("Denied"), at: "denied" },
    events: ['PodCertificateRequest ns/req-1 was denied, reason="R", message="M"'],
  },
  {
    name: "refresh: failed for good",
    ...{ state: { at: "refresh", issued, open }, request: request("Failed"), at: "failed" },
    events: ['PodCertificateRequest ns/req-1 failed, reason="R", message="M"'],
  },
  {
    name: "fresh: before its refresh",
    state: { at: "fresh", issued },
    nowMs: START - 1,
    at: "fresh",
  },
  { name: "fresh: refresh due", state: { at: "fresh", issued }, at: "fresh", needsRequest: true },
  {
    name: "refresh: overdue after ten minutes",
    ...{ state: { at: "refresh", issued, open }, request: request(), at: "refresh" },
    ...{ nowMs: START + 10 * MINUTE + 1, events: ["PodCertificate refresh overdue"] },
  },
  {
    name: "refresh: expired, overdue was said before",
    state: { at: "refresh", issued: { ...issued, saidOverdue: true }, open },
    ...{ request: request(), at: "refresh", nowMs: START + 31 * MINUTE },
    events: ["PodCertificate expired"],
  },
  {
    name: "refresh: a request that was deleted is made again",
    ...{ state: { at: "refresh", issued, open }, nowMs: START + 11 * MINUTE, at: "fresh" },
    needsRequest: true,
  },
  {
    name: "denied stays denied",
    ...{ state: { at: "denied", reason: "R", message: "M" }, at: "denied" },
  },
];

describe("decideCertificate", () => {
  test.each(rows)("$name", (row) => {
    const { state, request: seen, nowMs = START, at, needsRequest = false, events = [] } = row;
    const step = decideCertificate(state, seen, nowMs, 2_000);
    assert.equal(step.state.at, at);
    assert.equal(step.needsRequest, needsRequest);
    assert.deepEqual(
      step.events.map(({ message }) => message),
      events,
    );
  });
});

test("an issued certificate: chain without headers and text, refresh with jitter, the request's key", () => {
  const { state } = decideCertificate({ at: "wait", open }, request("Issued"), START, 2_000);
  const credentials = credentialsOf(state);
  assert.ok(credentials.ok);
  assert.equal(credentials.issued.chain, PEM);
  assert.equal(credentials.issued.key, "KEY");
  assert.equal(nextLookMs(state), START + 40 * MINUTE + 2_000);
  assert.equal(metricStateOf(state, START), "fresh");
  assert.equal(metricStateOf(state, START + 51 * MINUTE), "overdue_for_refresh");
  assert.equal(metricStateOf(state, START + 61 * MINUTE), "expired");
});

test("pod certificate: while a refresh is open the old credentials are used; a failed refresh is tried again later", () => {
  const state = withRequest({ at: "fresh", issued }, open);
  assert.deepEqual(credentialsOf(state), { ok: true, issued });
  assert.equal(nextLookMs(state), START + 10 * MINUTE);
  assert.equal(nextLookMs(postponed({ at: "fresh", issued }, START)), START + MINUTE);
});

test("pod certificate: missing credentials are explained with upstream's messages", () => {
  const why = (state: CertificateState): string => {
    const credentials = credentialsOf(state);
    return credentials.ok ? "" : credentials.why;
  };
  assert.equal(why({ at: "wait", open }), "credential bundle is not issued yet");
  assert.equal(
    why({ at: "failed", reason: "R", message: "M" }),
    'PodCertificateRequest was permanently failed: reason="R" message="M"',
  );
});
