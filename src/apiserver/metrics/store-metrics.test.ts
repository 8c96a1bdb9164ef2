import assert from "node:assert/strict";
import { test } from "vitest";
import { CONFIG_MAPS, configMap, startTestApi } from "../api.testing.ts";

test("store metrics: etcd_request_duration_seconds and apiserver_resource_objects have upstream's names", async () => {
  await using t = await startTestApi();
  for (const name of ["a", "b"]) await t.want(201, "POST", CONFIG_MAPS, { body: configMap(name) });
  await t.want(200, "PUT", `${CONFIG_MAPS}/a`, { body: configMap("a", { data: { k: "2" } }) });
  await t.want(200, "DELETE", `${CONFIG_MAPS}/b`);
  const metrics: string = await t.want(200, "GET", "/metrics");
  const place = 'group="",resource="configmaps"';
  for (const line of [
    `etcd_requests_total{operation="create",${place}} 2`,
    `etcd_requests_total{operation="update",${place}} 1`,
    `etcd_requests_total{operation="delete",${place}} 1`,
    `etcd_request_errors_total{operation="create",${place}} 0`,
    `etcd_request_duration_seconds_count{operation="create",${place}} 2`,
    `apiserver_resource_objects{${place}} 1`,
    'apiserver_storage_objects{resource="configmaps"} 1',
    'apiserver_storage_objects{resource="deployments.apps"} 0',
    `apiserver_watch_cache_resource_version{${place}} ${t.api.store.cache.revision}`,
  ]) {
    assert.ok(metrics.split("\n").includes(line), line);
  }
});
