import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { CONFIG_MAPS, configMap, startTestApi, type TestApi } from "./api.testing.ts";

async function metricsOf(api: TestApi): Promise<string> {
  return String(await api.want(200, "GET", "/metrics"));
}

function has(text: string, line: RegExp): void {
  assert.ok(
    text.split("\n").some((one) => line.test(one)),
    `no line like ${line}`,
  );
}

describe("what dashboards and alerts read", () => {
  test("requests, by verb and place, and what they were promised", async () => {
    await using api = await startTestApi();
    await api.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    await api.want(200, "GET", `${CONFIG_MAPS}/a`);
    await api.want(404, "GET", `${CONFIG_MAPS}/b`);
    const text = await metricsOf(api);
    const place =
      'group="",version="v1",resource="configmaps",subresource="",scope="resource",component="apiserver"';
    has(text, new RegExp(`^apiserver_request_total{verb="GET",dry_run="",${place},code="200"} 1$`));
    has(text, new RegExp(`^apiserver_request_total{verb="GET",dry_run="",${place},code="404"} 1$`));
    has(text, new RegExp(`^apiserver_request_sli_duration_seconds_count{verb="GET",${place}} 2$`));
    has(
      text,
      new RegExp(
        `^apiserver_request_sli_duration_seconds_bucket{verb="GET",${place},le="0.05"} 2$`,
      ),
    );
    has(text, /^authentication_duration_seconds_count{result="success"} [1-9]/);
    has(text, /^authorization_duration_seconds_count{result="allowed"} [1-9]/);
  });

  test("changes, addresses, and what will go", async () => {
    await using api = await startTestApi();
    await api.want(201, "POST", CONFIG_MAPS, { body: configMap("a") });
    await api.want(200, "DELETE", `${CONFIG_MAPS}/a`);
    await api.want(200, "GET", "/api/v1/componentstatuses");
    const text = await metricsOf(api);
    const place = 'group="",resource="configmaps"';
    has(text, new RegExp(`^apiserver_watch_cache_events_received_total{${place}} 2$`));
    has(text, /^kube_apiserver_clusterip_allocator_available_ips{cidr="10\.96\.0\.0\/24"} 254$/);
    has(
      text,
      /^apiserver_requested_deprecated_apis{group="",version="v1",resource="componentstatuses",subresource="",removed_release=""} 1$/,
    );
  });

  test("the process", async () => {
    await using api = await startTestApi();
    const text = await metricsOf(api);
    has(text, /^# TYPE process_cpu_seconds_total counter$/);
    has(text, /^process_resident_memory_bytes [1-9]\d+$/);
    has(text, /^process_open_fds [1-9]/);
    has(text, /^process_max_fds [1-9]/);
    has(text, /^process_network_receive_bytes_total \d+$/);
    has(text, /^kubernetes_build_info{.*git_version="v1\.36\.\d+".*major="1",minor="36",.*} 1$/);
  });
});
