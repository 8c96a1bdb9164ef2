import assert from "node:assert/strict";
import { test } from "vitest";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { RequestMetrics } from "./request-metrics.ts";

test("RequestMetrics: requests by host, method and code, with their time and bytes", async () => {
  const clock = new VirtualClock();
  const metrics = new Metrics();
  const begin = new RequestMetrics(metrics, clock).to("10.0.0.1:6443");
  const done = begin("PUT");
  await clock.advance(200);
  done({ code: 409, sentBytes: 300, receivedBytes: 70 });
  begin("GET")({ code: undefined });
  const text = metrics.text();
  const has = (line: string): void => assert.ok(text.includes(`\n${line}\n`), line);
  has('rest_client_requests_total{code="409",host="10.0.0.1:6443",method="PUT"} 1');
  has('rest_client_requests_total{code="<error>",host="10.0.0.1:6443",method="GET"} 1');
  has('rest_client_request_duration_seconds_sum{host="10.0.0.1:6443",verb="PUT"} 0.2');
  has('rest_client_request_size_bytes_bucket{host="10.0.0.1:6443",verb="PUT",le="512"} 1');
  has('rest_client_response_size_bytes_bucket{host="10.0.0.1:6443",verb="PUT",le="64"} 0');
});
