/** What is told about authentication, authorization, impersonation, audit and admission, under upstream's names. */
import type { Histogram, Metrics } from "#lib/metrics.ts";
import type { Operation } from "./admission/plugin.ts";
import type { RequestSecurity } from "./security.ts";

const STEP_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
/** Users who are counted by name; there is no end of others. */
const NAMED: ReadonlySet<string> = new Set([
  "admin",
  "client",
  "kube_proxy",
  "kubelet",
  "system:serviceaccount:kube-system:default",
]);

/** The same security, counted. */
export function countSecurity(security: RequestSecurity, metrics: Metrics): RequestSecurity {
  const attempts = metrics.counter({
    name: "authentication_attempts",
    help: "Requests by whether it was found out who asked.",
    labels: ["result"],
  });
  const [known, unknown] = [attempts("success"), attempts("failure")];
  const users = metrics.counter({
    name: "authenticated_user_requests",
    help: "Requests of known users.",
    labels: ["username"],
  });
  const others = users("other");
  const decisions = metrics.counter({
    name: "authorization_attempts_total",
    help: "Requests by whether they were allowed.",
    labels: ["result"],
  });
  const [allowed, denied] = [decisions("allowed"), decisions("denied")];
  const impersonations = metrics.counter({
    name: "apiserver_impersonation_attempts_total",
    help: "Requests in another's name, by the kind of grant and whether they were allowed.",
    labels: ["decision", "mode"],
  });
  countAudit(security, metrics);
  return {
    ...security,
    async authenticate(request, info) {
      const identity = await security.authenticate(request, info);
      const real =
        "status" in identity ? identity.refused : (identity.impersonator ?? identity.user);
      if (real === undefined) {
        unknown.add(1);
        return identity;
      }
      known.add(1);
      (NAMED.has(real.name) ? users(real.name) : others).add(1);
      if ("status" in identity) impersonations("denied", "").add(1);
      else if (identity.impersonator !== undefined) {
        impersonations("allowed", modeOf(identity.constraint)).add(1);
      }
      return identity;
    },
    async authorize(request, info, user, trail) {
      const refusal = await security.authorize(request, info, user, trail);
      (refusal === undefined ? allowed : denied).add(1);
      return refusal;
    },
  };
}

/** `impersonate:user-info` is of the mode `user-info`; grants of the old form have none. */
function modeOf(constraint: string | undefined): string {
  return constraint ? constraint.replace(/^impersonate:/, "") : "legacy";
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

export type ObserveStep = (
  step: "admit" | "validate",
  operation: Operation,
  rejected: boolean,
  seconds: number,
) => void;

export function observeAdmission(metrics: Metrics): ObserveStep {
  const durations = metrics.histogram({
    name: "apiserver_admission_step_admission_duration_seconds",
    help: "Time that all plug-ins together took, by step.",
    labels: ["operation", "rejected", "type"],
    buckets: STEP_SECONDS,
  });
  const series = new Map<string, Histogram>();
  return (step, operation, rejected, seconds) => {
    const key = `${operation} ${rejected} ${step}`;
    let found = series.get(key);
    if (found === undefined) {
      found = durations(operation, String(rejected), step);
      series.set(key, found);
    }
    found.observe(seconds);
  };
}
