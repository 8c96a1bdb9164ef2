import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { CONFIG_MAPS, configMap, startTestApi, type TestApi } from "../api.testing.ts";
import { createLoopback } from "../cluster/loopback.ts";

async function metricsOf(api: TestApi): Promise<string> {
  return String(await api.want(200, "GET", "/metrics"));
}

function has(text: string, line: RegExp): void {
  assert.ok(
    text.split("\n").some((one) => line.test(one)),
    `no line like ${line}`,
  );
}

describe("API server metrics: what dashboards and alerts read", () => {
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
    has(
      text,
      new RegExp(`^apiserver_request_total{verb="POST",dry_run="",${place},code="201"} 1$`),
    );
    has(
      text,
      /^apiserver_request_body_size_bytes_bucket{verb="create",group="",resource="configmaps",le="1\.05e\+06"} 1$/,
    );
    has(text, /^apiserver_request_filter_duration_seconds_count{filter="authentication"} [1-9]/);
    has(
      text,
      /^version_info{binary="1\.36\.\d+",component="kube",emulation="1\.36",min_compat="1\.35"} 1$/,
    );
    has(text, /^authentication_duration_seconds_count{result="success"} [1-9]/);
    has(text, /^authorization_duration_seconds_count{result="allowed"} [1-9]/);
  });

  test("lists: how many, what they looked at, what they found", async () => {
    await using api = await startTestApi();
    for (const name of ["a", "b", "c"]) {
      await api.want(201, "POST", CONFIG_MAPS, { body: configMap(name) });
    }
    await api.want(200, "GET", CONFIG_MAPS);
    await api.want(200, "GET", `${CONFIG_MAPS}?limit=1`);
    await api.want(200, "GET", `${CONFIG_MAPS}?labelSelector=x`);
    await api.want(200, "GET", `${CONFIG_MAPS}?fieldSelector=metadata.name%3Db`);
    const text = await metricsOf(api);
    const place = 'group="",resource="configmaps"';
    has(text, new RegExp(`^apiserver_cache_list_total{${place},index=""} 4$`));
    has(text, new RegExp(`^apiserver_cache_list_fetched_objects_total{${place},index=""} 8$`));
    has(text, new RegExp(`^apiserver_cache_list_returned_objects_total{${place}} 5$`));
    has(text, new RegExp(`^apiserver_watch_cache_initializations_total{${place}} 1$`));
  });

  test("health checks that were asked for", async () => {
    await using api = await startTestApi();
    await api.want(200, "GET", "/livez");
    const text = String(await api.want(200, "GET", "/metrics/slis"));
    has(text, /^kubernetes_healthcheck{name="ping",type="livez"} 1$/);
    has(text, /^kubernetes_healthchecks_total{name="ping",type="livez",status="success"} 1$/);
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

  test("requests of the server to itself, and how much its caches keep", async () => {
    await using api = await startTestApi();
    const loopback = createLoopback(api.api.handle, new AbortController().signal);
    await loopback.get(namespaceKind, "", "default");
    await api.want(200, "GET", "/api/v1/namespaces");
    const text = await metricsOf(api);
    const lines = text.split("\n").filter((line) => line.startsWith("apiserver_selfrequest_total"));
    assert.deepEqual(lines, [
      'apiserver_selfrequest_total{verb="GET",group="",resource="namespaces",subresource=""} 1',
    ]);
    has(text, /^watch_cache_capacity{group="",resource="namespaces"} 20000$/);
  });

  test("process_ metrics report CPU, memory and file descriptors", async () => {
    await using api = await startTestApi();
    const text = await metricsOf(api);
    has(text, /^# TYPE process_cpu_seconds_total counter$/);
    has(text, /^process_resident_memory_bytes [1-9][.\d]*e\+\d+$/);
    has(text, /^process_open_fds [1-9]/);
    has(text, /^process_max_fds [1-9]/);
    has(text, /^process_network_receive_bytes_total [\d.e+]+$/);
    has(text, /^kubernetes_feature_enabled{name="PodLevelResources",stage="BETA"} 1$/);
    has(text, /^kubernetes_feature_enabled{name="SidecarContainers",stage=""} 1$/);
    has(text, /^kubernetes_feature_enabled{name="AllAlpha",stage="ALPHA"} 0$/);
    has(
      text,
      /^kubernetes_build_info{.*git_version="v1\.36\.4\+k8ts1".*major="1",minor="36",.*} 1$/,
    );
  });
});
