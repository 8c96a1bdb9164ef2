import assert from "node:assert/strict";
import { test } from "vitest";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { Cache } from "#client/cache.ts";
import { build } from "#testing/build.ts";
import { startCluster } from "#testing/cluster.ts";
import { serveMetrics } from "../serve-metrics.ts";
import { adapterGroups } from "./metrics-adapter.ts";
import type { ScrapeTarget } from "./scrape-target.ts";

const ANNOTATIONS = { "prometheus.io/scrape": "true", "prometheus.io/port": "8080" };

function pod(name: string, podIP: string, nodeName = "real"): Pod {
  return build(podKind, {
    metadata: {
      name,
      uid: name,
      labels: { app: "web" },
      annotations: ANNOTATIONS,
    },
    spec: { nodeName, containers: [{ name: "web" }] },
    status: { phase: "Running", podIP },
  });
}

async function startAdapter(pages: (target: ScrapeTarget) => string) {
  const cluster = await startCluster();
  const nodes = new Cache<Node>();
  for (const [name, labels] of [
    ["real", {}],
    ["fake", { "sim.k8ts.io/simulated": "true" }],
  ] as const) {
    nodes.put(build(nodeKind, { metadata: { name, labels } }));
  }
  const pods = new Cache<Pod>();
  pods.put(pod("a", "10.0.0.1"));
  pods.put(pod("b", "10.0.0.2"));
  pods.put(pod("c", "10.0.0.3", "fake"));
  const asked: string[] = [];
  const fetch = async (target: ScrapeTarget): Promise<string> => {
    asked.push(`${target.host}:${target.port}${target.path}`);
    return pages(target);
  };
  const { client, clock } = cluster;
  const groups = adapterGroups({ client, clock, nodes, pods, fetch });
  const get = async (path: string) => {
    const [name = "", search = ""] = path.split("?");
    const request = { path: name, query: new URLSearchParams(search), accept: "application/json" };
    const { code, body } = await serveMetrics(groups, request);
    const { items, message } = body as {
      items?: { describedObject?: { name: string }; metricLabels?: object; value: string }[];
      message?: string;
    };
    return {
      code,
      message,
      items: items?.map((one) => [one.describedObject?.name ?? one.metricLabels, one.value]),
    };
  };
  return { cluster, asked, get };
}

test("custom.metrics.k8s.io: a metric of pods by selector, rates of counters; pods of simulated nodes are not read", async () => {
  let requests = 0;
  const { cluster, asked, get } = await startAdapter(
    ({ host }) => `queue ${host.at(-1)}\nhttp_requests_total ${requests}\n`,
  );
  await using _ended = cluster;
  const pods = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods";
  const queue = await get(`${pods}/*/queue?labelSelector=app%3Dweb`);
  assert.deepEqual(queue.items, [["a", "1"], ["b", "2"]]); // biome-ignore format: one row
  assert.deepEqual(asked.sort(), ["10.0.0.1:8080/metrics", "10.0.0.2:8080/metrics"]);
  assert.deepEqual((await get(`${pods}/*/queue?labelSelector=app%3Dother`)).items, []);
  assert.equal((await get(`${pods}/a/nothing`)).code, 404);
  await get(`${pods}/a/http_requests_per_second`);
  requests = 25;
  await cluster.clock.advance(10_000);
  assert.deepEqual((await get(`${pods}/a/http_requests_per_second`)).items, [["a", "2500m"]]);
});

test("custom.metrics.k8s.io of a Service is the sum of its pods; external.metrics.k8s.io has every series", async () => {
  const { cluster, get } = await startAdapter(({ host }) => `queue{ip="${host}"} 4\n`);
  await using _ended = cluster;
  await cluster.seed(serviceKind, {
    metadata: { name: "web", annotations: ANNOTATIONS },
    spec: { selector: { app: "web" }, ports: [{ port: 80, protocol: "TCP" }] },
  });
  const custom = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/default";
  assert.deepEqual((await get(`${custom}/services/web/queue`)).items, [["web", "8"]]);
  assert.equal((await get(`${custom}/services/none/queue`)).code, 404);
  const external = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/queue";
  const one = await get(`${external}?labelSelector=${encodeURIComponent("ip in (10.0.0.2)")}`);
  assert.deepEqual(one.items, [[{ ip: "10.0.0.2" }, "4"]]);
  assert.equal((await get(external)).items?.length, 2);
  assert.equal((await get(`${external}?labelSelector=(`)).code, 400);
});
