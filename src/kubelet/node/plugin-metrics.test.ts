import assert from "node:assert/strict";
import { test } from "vitest";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import { Metrics } from "#lib/metrics.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { addPluginMetrics } from "./plugin-metrics.ts";

test("plug-in metrics: registrations, Allocate, claims of pods, calls of DRA drivers by status", async () => {
  const metrics = new Metrics();
  const clock = new VirtualClock("2030-01-01T00:00:00Z");
  const measured = addPluginMetrics(metrics, clock);
  measured.deviceRegistration("example.com/lamp");
  await measured.deviceAllocation("example.com/lamp", async () => clock.advance(300));
  await measured.draOperation("PrepareResources", async () => undefined);
  const gone = (): Promise<never> =>
    Promise.reject(new GrpcError(GRPC_CODES.UNAVAILABLE, "no driver"));
  await assert.rejects(measured.draOperation("UnprepareResources", gone));
  await assert.rejects(measured.draCall("lamps", "/dra/Prepare", gone));
  assert.equal(await measured.draCall("lamps", "/dra/Prepare", async () => 1), 1);
  measured.countClaims(() => new Map([["<any>", 2]]));
  const lines = metrics.text().split("\n");
  for (const line of [
    'kubelet_device_plugin_registration_total{resource_name="example.com/lamp"} 1',
    'kubelet_device_plugin_alloc_duration_seconds_sum{resource_name="example.com/lamp"} 0.3',
    'dra_operations_duration_seconds_count{operation_name="PrepareResources",is_error="false"} 1',
    'dra_operations_duration_seconds_count{operation_name="UnprepareResources",is_error="true"} 1',
    'dra_grpc_operations_duration_seconds_count{driver_name="lamps",method_name="/dra/Prepare",grpc_status_code="Unavailable"} 1',
    'dra_grpc_operations_duration_seconds_count{driver_name="lamps",method_name="/dra/Prepare",grpc_status_code="OK"} 1',
    'dra_resource_claims_in_use{driver_name="<any>"} 2',
  ]) {
    assert.ok(lines.includes(line), line);
  }
  const bounds = lines.filter((line) => line.startsWith("dra_operations_duration_seconds_bucket"));
  assert.match(bounds[0] ?? "", /le="0.1"/);
  assert.match(bounds[14] ?? "", /le="(39\.99999|40)/);
});
