import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { dnsAddress, ensureDnsAccess, ensureKubeDns } from "./kube-dns.ts";

const signal = new AbortController().signal;
const PLACE = { clusterIp: "10.96.0.10", address: "192.0.2.10", port: 5353 };

describe("dnsAddress is the tenth address of the service range", () => {
  test.each([
    ["10.96.0.0/12", "10.96.0.10"],
    ["10.43.0.0/16", "10.43.0.10"],
    ["fd00:10:96::/112", "fd00:10:96::a"],
  ])("%s: %s", (range, want) => assert.equal(dnsAddress(range), want));
});

test("kube-dns: the Service is made once, its EndpointSlice follows the server", async () => {
  await using cluster = await startCluster({ secured: true });
  for (const _again of [1, 2]) await ensureDnsAccess(cluster.client, signal);
  assert.equal(await ensureKubeDns(cluster.client, PLACE, signal), true);
  const service = cluster.get(serviceKind, "kube-dns", "kube-system");
  assert.equal(service?.spec.clusterIP, "10.96.0.10");
  const ports = service?.spec.ports?.map(
    ({ name, port, protocol }) => `${name} ${port}/${protocol}`,
  );
  assert.deepEqual(ports, ["dns 53/UDP", "dns-tcp 53/TCP", "metrics 9153/TCP"]);
  assert.equal(await ensureKubeDns(cluster.client, { ...PLACE, port: 5354 }, signal), true);
  assert.deepEqual(placeOf(cluster), ["IPv4 192.0.2.10 5354,5354"]);
  await ensureKubeDns(cluster.client, { ...PLACE, address: "2001:db8::10" }, signal);
  assert.deepEqual(placeOf(cluster), ["IPv6 2001:db8::10 5353,5353"]);
});

test("kube-dns: a Service with a selector is left alone", async () => {
  await using cluster = await startCluster({ secured: true });
  await cluster.seed(serviceKind, {
    metadata: { namespace: "kube-system", name: "kube-dns" },
    spec: { selector: { "k8s-app": "kube-dns" }, ports: [{ port: 53, protocol: "UDP" }] },
  });
  assert.equal(await ensureKubeDns(cluster.client, PLACE, signal), false);
  assert.deepEqual(placeOf(cluster), []);
});

test("kube-dns: the EndpointSlice goes when the Service has got a selector", async () => {
  await using cluster = await startCluster({ secured: true });
  await ensureKubeDns(cluster.client, PLACE, signal);
  const selector = { "k8s-app": "kube-dns" };
  const key = { namespace: "kube-system", name: "kube-dns" };
  await cluster.client.patch(serviceKind, key, "merge", { spec: { selector } });
  assert.equal(await ensureKubeDns(cluster.client, PLACE, signal), false);
  await cluster.settle();
  assert.doesNotMatch(placeOf(cluster).join(), /192\.0\.2\.10/);
});

function placeOf(cluster: Cluster): string[] {
  return cluster
    .list(endpointSliceKind, "kube-system")
    .map(
      ({ addressType, endpoints, ports }) =>
        `${addressType} ${endpoints?.[0]?.addresses?.[0]} ${ports?.map(({ port }) => port)}`,
    );
}
