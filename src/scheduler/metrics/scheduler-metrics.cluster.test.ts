import assert from "node:assert/strict";
import { test } from "vitest";
import { type SchedulingCluster, startScheduling } from "#scheduler/scheduling.testing.ts";

const big = [{ name: "c", image: "x", resources: { requests: { cpu: "9" } } }];

/** The value of the first series that begins with this text. */
function value({ metrics }: SchedulingCluster, series: string): number | undefined {
  const line = metrics
    .text()
    .split("\n")
    .find((one) => one.startsWith(series));
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(" ")));
}

test("metrics of extension points, plugins and the queue have upstream's names and labels", async () => {
  await using world = await startScheduling();
  await world.node("n1");
  await world.node("n2");
  const count = 40;
  for (let i = 0; i < count; i++) await world.pod(`p${i}`);
  await world.pod("big", { containers: big });
  const point = (name: string, status: string) =>
    value(
      world,
      `scheduler_framework_extension_point_duration_seconds_count{extension_point="${name}",status="${status}",profile="default-scheduler"}`,
    );
  assert.equal(point("PreEnqueue", "Success"), count + 2); // again when the failed pod is put back
  assert.equal(point("PreFilter", "Success"), count + 1);
  assert.equal(point("Filter", "Success"), count + 1);
  assert.equal(point("PostFilter", "Unschedulable"), 1);
  for (const name of ["PreScore", "Score", "Reserve", "Permit", "Bind"]) {
    assert.equal(point(name, "Success"), count, name);
  }
  assert.equal(point("PreBindPreFlight", "Skip"), count);
  const evaluated = (plugin: string, at: string) =>
    value(
      world,
      `scheduler_plugin_evaluation_total{plugin="${plugin}",extension_point="${at}",profile="default-scheduler"}`,
    );
  assert.equal(evaluated("NodeResourcesFit", "PreFilter"), count + 1);
  assert.equal(evaluated("NodePorts", "PreFilter"), undefined); // it skips pods without host ports
  assert.ok((evaluated("NodeResourcesFit", "Filter") ?? 0) >= count);
  assert.ok((evaluated("NodeResourcesFit", "Score") ?? 0) >= count);
  const ran = value(
    world,
    'scheduler_plugin_execution_duration_seconds_count{plugin="NodeResourcesFit",extension_point="PreFilter",status="Success"}',
  );
  assert.ok(ran !== undefined && ran < count / 2, `${ran} of ${count} attempts are measured`);
  const incoming = (queue: string, event: string) =>
    value(world, `scheduler_queue_incoming_pods_total{queue="${queue}",event="${event}"}`);
  assert.equal(incoming("active", "UnschedulablePodAdd"), count + 1);
  assert.equal(incoming("unschedulable", "ScheduleAttemptFailure"), 1);
  const handled = value(
    world,
    'scheduler_event_handling_duration_seconds_count{event="AssignedPodUpdate"}',
  );
  assert.equal(handled, count);
  assert.equal(value(world, 'scheduler_inflight_events{event="PodPopped"}'), 0);
});

test("metrics count the event that wakes a pod, its queueing hint, and flushed pods", async () => {
  await using world = await startScheduling();
  await world.node("n1");
  for (let i = 0; i < 12; i++) await world.pod(`big${i}`, { containers: big });
  await world.node("n2", { status: { allocatable: { cpu: "64", memory: "8Gi", pods: "110" } } });
  await world.settle();
  const woken = 'scheduler_queue_incoming_pods_total{queue="backoff",event="NodeAdd"}';
  assert.equal(value(world, woken), 12);
  const hint =
    'scheduler_queueing_hint_execution_duration_seconds_count{plugin="NodeResourcesFit",event="NodeAdd",hint="Queue"}';
  assert.ok((value(world, hint) ?? 0) >= 1);
  assert.equal(value(world, "scheduler_pod_scheduled_after_flush_total"), 0);
});
