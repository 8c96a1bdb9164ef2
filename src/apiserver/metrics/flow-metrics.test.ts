import assert from "node:assert/strict";
import { test } from "vitest";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { FlowControl } from "../flow/flow-control.ts";
import { requestInfoOf } from "../request/request-info.ts";
import { addFlowMetrics } from "./flow-metrics.ts";

test("who waits, how long the queues were that they joined, and who watches what they write", () => {
  const flow = new FlowControl({ seats: 1, longRunningMax: 10, clock: new VirtualClock() });
  const metrics = new Metrics();
  addFlowMetrics(metrics, flow);
  const objects = {
    statsOf: () => ({ count: 1, bytes: 10, watchers: 7 }),
    list: () => [],
    onChange: () => undefined,
  };
  const { signal } = new AbortController();
  flow.start(objects, signal);
  const info = requestInfoOf("POST", "/api/v1/namespaces/a/configmaps", new URLSearchParams());
  const user = { name: "alice", groups: ["system:authenticated"] };
  for (let count = 0; count < 40; count++) void flow.admit(user, info, { signal });
  const text = metrics.text();
  const place = 'flow_schema="global-default",priority_level="global-default"';
  const shown = (name: string): number =>
    Number(text.split(`\napiserver_flowcontrol_${name}{${place}} `)[1]?.split("\n")[0]);
  const waiting = shown("current_inqueue_requests");
  assert.ok(waiting > 30);
  assert.equal(shown("current_inqueue_seats"), waiting);
  assert.equal(shown("request_queue_length_after_enqueue_count"), waiting);
  assert.ok(shown("request_queue_length_after_enqueue_sum") > waiting); // some were not the first
  assert.equal(shown("watch_count_samples_count"), 40);
  assert.equal(shown("watch_count_samples_sum"), 280);
});
