/** A data plane (`built-in` or `nginx`) in a process of its own, with one host whose endpoint is the given port. */
import { createSecureContext } from "node:tls";
import type { Service } from "#api/generated/core.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { ingressKind } from "#api/kinds/networking/v1/ingress.ts";
import { ingressClassKind } from "#api/kinds/networking/v1/ingress-class.ts";
import { LIMITS } from "#ingress/data-plane/data-plane.ts";
import { EndpointSet } from "#ingress/data-plane/endpoint-set.ts";
import { createIngressMetrics } from "#ingress/data-plane/ingress-metrics.ts";
import { startDataPlane } from "#ingress/data-plane/start-data-plane.ts";
import { startNginxPlane } from "#ingress/nginx/start-nginx-plane.ts";
import { buildRoutingTable, CONTROLLER } from "#ingress/routes/build-routing-table.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { build } from "#testing/build.ts";
import { servingPair } from "#testing/serving-pair.ts";

const endpoints = new EndpointSet([{ host: "127.0.0.1", port: Number(process.argv[2]) }], "bench");
const service: Service = build(serviceKind, {
  metadata: { name: "web" },
  spec: { ports: [{ port: 80 }] },
});
const backend = { service: { name: "web", port: { number: 80 } } };
const { table } = buildRoutingTable({
  ingresses: [
    build(ingressKind, {
      metadata: { name: "web" },
      spec: {
        ingressClassName: "k8ts",
        rules: [
          { host: "bench.test", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } },
        ],
      },
    }),
  ],
  classes: [
    build(ingressClassKind, { metadata: { name: "k8ts" }, spec: { controller: CONTROLLER } }),
  ],
  service: () => service,
});
const pair = servingPair();
const context = createSecureContext(pair);
const state = {
  ...{ table: () => table, endpoints: () => endpoints, certificate: () => context },
  certificatePairs: () => ({}),
};
const options = {
  ...{ state, clock: systemClock, limits: LIMITS, metrics: createIngressMetrics(new Metrics()) },
  ...{ addresses: ["127.0.0.1"], httpPort: 0, httpsPort: 0, drainMs: 0 },
  defaultCertificate: pair,
  isTrusted: () => false,
};
const { signal } = new AbortController();
const plane =
  process.argv[3] === "nginx"
    ? await startNginxPlane({ ...options, accessLog: false, workers: 1 }, signal)
    : await startDataPlane(options, signal);
process.send?.(plane.httpPort);
