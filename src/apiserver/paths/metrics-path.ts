/** /metrics in Prometheus' text format, and /metrics/slis with the state of the health checks. */
import { gzipSync } from "node:zlib";
import type { Metrics } from "#lib/metrics.ts";
import type { HealthCounts } from "../health/health-counts.ts";
import type { PathHandler } from "../request/handler.ts";
import type { ApiRequest } from "../request/request.ts";
import { type Answer, answer } from "../response/answer.ts";

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

export interface MetricsPathOptions {
  readonly metrics: Metrics;
  /** Of the health checks. */
  readonly checks: HealthCounts;
  readonly startSeconds: number;
}

export function metricsPath(options: MetricsPathOptions): PathHandler {
  const { metrics, checks, startSeconds } = options;
  const textAnswer = (text: string, { headers }: ApiRequest): Answer => {
    const zips = ZIPS.test(headers["accept-encoding"] ?? "");
    const bytes = zips ? gzipSync(text, { level: 1 }) : Buffer.from(text);
    return answer(
      200,
      { form: "bytes", contentType: CONTENT_TYPE, bytes },
      {
        headers: {
          "process-start-time-unix": String(Math.floor(startSeconds)),
          ...(zips ? { "content-encoding": "gzip" } : {}),
        },
      },
    );
  };
  return (request) => {
    if (request.path === "/metrics") return textAnswer(metrics.text(), request);
    if (request.path !== "/metrics/slis") return undefined;
    return checks.text().then((text) => textAnswer(text, request));
  };
}

const ZIPS = /(^|,)\s*gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/;
