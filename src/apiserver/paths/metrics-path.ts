/** /metrics in Prometheus' text format. */
import type { Metrics } from "#lib/metrics.ts";
import { textAnswer } from "../answer.ts";
import type { PathHandler } from "../handler.ts";

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

export function metricsPath(metrics: Metrics): PathHandler {
  return ({ path, method }) =>
    path === "/metrics" && method === "GET"
      ? textAnswer(200, metrics.text(), CONTENT_TYPE)
      : undefined;
}
