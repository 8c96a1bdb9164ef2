/** Metrics of admission webhooks, under upstream's names. */
import type { Metrics } from "#lib/metrics.ts";
import type { Operation } from "../admission/admission-request.ts";

const SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
/** Larger codes are counted as this one, so that a webhook cannot make any number of series. */
const CODE_MAX = 600;

export interface WebhookCallPlace {
  readonly name: string;
  readonly type: "admit" | "validating";
  readonly operation: Operation;
}

export interface WebhookMetrics {
  /** `code`: 200, that of a refusal, or that of a failed call; 0 for a fault of the server itself. */
  called(place: WebhookCallPlace, seconds: number, code: number, rejected: boolean): void;
  rejected(
    place: WebhookCallPlace,
    error: "calling_webhook_error" | "apiserver_internal_error" | "no_error",
    code: number,
  ): void;
  failedOpen(place: WebhookCallPlace): void;
}

export function createWebhookMetrics(metrics: Metrics): WebhookMetrics {
  const prefix = "apiserver_admission_webhook";
  const times = metrics.histogram({
    name: `${prefix}_admission_duration_seconds`,
    help: "Time that admission webhooks took.",
    labels: ["name", "operation", "rejected", "type"],
    buckets: SECONDS,
  });
  const requests = metrics.counter({
    name: `${prefix}_request_total`,
    help: "Requests to admission webhooks.",
    labels: ["code", "name", "operation", "rejected", "type"],
  });
  const rejections = metrics.counter({
    name: `${prefix}_rejection_count`,
    help: "Requests that were rejected because of an admission webhook.",
    labels: ["error_type", "name", "operation", "rejection_code", "type"],
  });
  const open = metrics.counter({
    name: `${prefix}_fail_open_count`,
    help: "Calls of admission webhooks that failed and were ignored.",
    labels: ["name", "type"],
  });
  return {
    called({ name, type, operation }, seconds, code, rejected) {
      const outcome = String(rejected);
      requests(shown(code), name, operation, outcome, type).add(1);
      times(name, operation, outcome, type).observe(seconds);
    },
    rejected({ name, type, operation }, error, code) {
      rejections(error, name, operation, shown(code), type).add(1);
    },
    failedOpen: ({ name, type }) => open(name, type).add(1),
  };
}

function shown(code: number): string {
  return String(Math.min(code, CODE_MAX));
}
