/** Metrics of authentication, authorization, impersonation and audit under upstream's names. */

import { andThen } from "#lib/async/maybe-promise.ts";
import type { Counter, Histogram, MetricOptions, Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Identity, RequestSecurity } from "../request/security.ts";

const CHECK_SECONDS = Array.from({ length: 15 }, (_, at) => 0.001 * 2 ** at);
const CERTIFICATE_SECONDS = [
  0, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000,
  15_552_000, 31_104_000,
];
const FILTER_SECONDS = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30];
/** Users who are counted by name; there is no end of others. */
const NAMED: ReadonlySet<string> = new Set([
  "admin",
  "client",
  "kube_proxy",
  "kubelet",
  "system:serviceaccount:kube-system:default",
]);

/** The same security, counted. */
export function countSecurity(
  security: RequestSecurity,
  metrics: Metrics,
  clock: Clock,
): RequestSecurity {
  const filters = metrics.histogram({
    name: "apiserver_request_filter_duration_seconds",
    help: "Time that requests spent in each step before they were carried out.",
    labels: ["filter"],
    buckets: FILTER_SECONDS,
  });
  countDecisions(security, metrics);
  countAudit(security, metrics);
  return {
    ...security,
    authenticate: countAuthentication(security, metrics, clock, filters("authentication")),
    authorize: countAuthorization(security, metrics, clock, filters("authorization")),
  };
}

function countAuthentication(
  { authenticate }: RequestSecurity,
  metrics: Metrics,
  clock: Clock,
  steps: Histogram,
): RequestSecurity["authenticate"] {
  const outcome = outcomesOf(
    metrics,
    {
      name: "authentication_attempts",
      help: "Requests by whether it was found out who asked; an error is a proof that is none.",
    },
    {
      name: "authentication_duration_seconds",
      help: "Time that it took to find out who asked.",
    },
  );
  const [known, unknown, wrong] = [outcome("success"), outcome("failure"), outcome("error")];
  const certificateLives = metrics.histogram({
    name: "apiserver_client_certificate_expiration_seconds",
    help: "How long the certificates that requests were made with will be valid.",
    labels: [],
    buckets: CERTIFICATE_SECONDS,
  })();
  const countIdentity = identityCounter(metrics);
  return (request, info) => {
    const startMs = clock.elapsedMs();
    return andThen(authenticate(request, info), (identity) => {
      const seconds = (clock.elapsedMs() - startMs) / 1000;
      steps.observe(seconds);
      const { certificate } = request.peer;
      if (certificate !== undefined) {
        certificateLives.observe((certificate.notAfterMs - clock.nowMs()) / 1000);
      }
      const showed = request.headers.authorization !== undefined;
      const { count, after } = countIdentity(identity) ? known : showed ? wrong : unknown;
      count.add(1);
      after.observe(seconds);
      return identity;
    });
  };
}

/** Counts who asks, and as whom; says whether it is anyone. */
function identityCounter(metrics: Metrics): (identity: Identity) => boolean {
  const users = metrics.counter({
    name: "authenticated_user_requests",
    help: "Requests of known users.",
    labels: ["username"],
  });
  const others = users("other");
  const impersonations = metrics.counter({
    name: "apiserver_impersonation_attempts_total",
    help: "Requests in another's name, by the kind of grant and whether they were allowed.",
    labels: ["decision", "mode"],
  });
  return (identity) => {
    const real = "status" in identity ? identity.refused : (identity.impersonator ?? identity.user);
    if (real === undefined) return false;
    (NAMED.has(real.name) ? users(real.name) : others).add(1);
    if ("status" in identity) impersonations("denied", "").add(1);
    else if (identity.impersonator !== undefined) {
      impersonations("allowed", modeOf(identity.constraint)).add(1);
    }
    return true;
  };
}

function countAuthorization(
  { authorize }: RequestSecurity,
  metrics: Metrics,
  clock: Clock,
  steps: Histogram,
): RequestSecurity["authorize"] {
  const outcome = outcomesOf(
    metrics,
    { name: "authorization_attempts_total", help: "Requests by whether they were allowed." },
    {
      name: "authorization_duration_seconds",
      help: "Time that it took to decide whether they may.",
    },
  );
  const [allowed, denied] = [outcome("allowed"), outcome("denied")];
  return (request, info, user, trail) => {
    const startMs = clock.elapsedMs();
    return andThen(authorize(request, info, user, trail), (refusal) => {
      const seconds = (clock.elapsedMs() - startMs) / 1000;
      steps.observe(seconds);
      const { count, after } = refusal === undefined ? allowed : denied;
      count.add(1);
      after.observe(seconds);
      return refusal;
    });
  };
}

/** Number and duration of the checks by result. */
function outcomesOf(
  metrics: Metrics,
  attempts: Pick<MetricOptions, "name" | "help">,
  durations: Pick<MetricOptions, "name" | "help">,
): (result: string) => { readonly count: Counter; readonly after: Histogram } {
  const labels = ["result"];
  const counts = metrics.counter({ ...attempts, labels });
  const times = metrics.histogram({ ...durations, labels, buckets: CHECK_SECONDS });
  return (result) => ({ count: counts(result), after: times(result) });
}

/** `impersonate:user-info` is of the mode `user-info`; grants of the old form have none. */
function modeOf(constraint: string | undefined): string {
  return constraint ? constraint.replace(/^impersonate:/, "") : "legacy";
}

function countDecisions({ decisions }: RequestSecurity, metrics: Metrics): void {
  metrics.countersOf(
    {
      name: "apiserver_authorization_decisions_total",
      help: "Requests and reviews that each authorizer decided.",
      labels: ["type", "name", "decision"],
    },
    () =>
      decisions()
        .filter(({ count }) => count > 0)
        .map(({ type, name, decision, count }) => ({
          labels: [type, name, decision],
          value: count,
        })),
  );
}

function countAudit({ audit }: RequestSecurity, metrics: Metrics): void {
  const labels = ["level"];
  metrics.countersOf(
    { name: "apiserver_audit_event_total", help: "Events of the audit log.", labels: [] },
    () => [{ labels: [], value: audit?.written ?? 0 }],
  );
  metrics.countersOf(
    { name: "apiserver_audit_level_total", help: "Requests by level of the policy.", labels },
    () => [...(audit?.levels ?? [])].map(([level, value]) => ({ labels: [level], value })),
  );
}
