/** What autoscalers ask of a metrics API and what they make of its answers, over HTTPS. */
import assert from "node:assert/strict";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "vitest";
import type { MetricSpec } from "#api/generated/autoscaling.v2.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { servingCertificate } from "#cmd/component/serving-certificate.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { measure } from "./measurements.ts";

const AT = "2030-01-01T00:00:00Z";
const resource = (name: string): MetricSpec => ({
  type: "Resource",
  resource: { name, target: { type: "Utilization", averageUtilization: 50 } },
});
const container = (of: string): MetricSpec => ({
  type: "ContainerResource",
  containerResource: {
    name: "cpu",
    container: of,
    target: { type: "Utilization", averageUtilization: 50 },
  },
});

function podMetrics(name: string, ...usages: readonly Readonly<Record<string, string>>[]) {
  const containers = usages.map((usage, i) => ({ name: `c${i}`, usage }));
  return { metadata: { name }, timestamp: AT, window: "30s", containers };
}

const LIST = {
  kind: "PodMetricsList",
  apiVersion: "metrics.k8s.io/v1beta1",
  metadata: {},
  items: [
    podMetrics("a", { cpu: "250m", memory: "64Mi" }, { cpu: "1", memory: "1Gi" }),
    podMetrics("b", { cpu: "1500000n" }),
    podMetrics("c", { memory: "1Gi" }),
  ],
};

test("pods by their labels, each with the sum of its containers", async () => {
  const asked: string[] = [];
  const tls = servingCertificate({ certFile: "", keyFile: "" }, "localhost", systemClock);
  const server = createServer(tls, ({ url = "", headers }, reply) => {
    asked.push(`${headers.authorization} ${url}`);
    const isKnown = url.startsWith("/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?");
    reply.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" });
    reply.end(isKnown ? JSON.stringify(LIST) : "404 page not found\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const connection = {
      server: `https://127.0.0.1:${port}`,
      ca: tls.cert,
      token: () => "secret",
    };
    using transport = new HttpsTransport(connection, "test");
    const options = { clock: systemClock, random: seededRandom(1), fieldManager: "test" };
    const client = new Client({ transport, ...options });
    const of = async (metric: MetricSpec, namespace = "shop") => {
      const measured = await measure(client, namespace, metric, "app in (a,b)");
      if (!measured.ok) return measured.error;
      return "pods" in measured
        ? Object.fromEntries([...measured.pods].map(([name, { milli }]) => [name, milli]))
        : measured.totalMilli;
    };
    // A pod of which a part is not measured is not measured.
    assert.deepEqual(await of(resource("cpu")), { a: 1250, b: 2 });
    assert.deepEqual(await of(resource("memory")), { a: 1_140_850_688_000, c: 1_073_741_824_000 });
    assert.deepEqual(await of(container("c1")), { a: 1000 });
    assert.match(
      String(await of(resource("cpu"), "elsewhere")),
      /^unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: /,
    );
    assert.equal(
      asked[0],
      "Bearer secret /apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%20in%20(a%2Cb)",
    );
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
