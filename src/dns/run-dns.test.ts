/** The DNS server over real sockets, on the real API server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { Resolver } from "node:dns/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, test } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { freePort } from "#testing/free-ports.ts";
import { until } from "../../test/e2e/node/eventually.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import type { FollowedConfigMap } from "./follow-corefile.ts";
import type { Upstream } from "./forward/resolv-conf.ts";
import { runDns } from "./run-dns.ts";

const ENDPOINTS_MANY = 100;

describe("DNS on the API server", () => {
  const life = new AbortController();
  const metrics = new Metrics();
  let cluster: Cluster;
  let port = 0;
  let done: Promise<void>;

  beforeAll(async () => {
    cluster = await startCluster();
    await seedCluster(cluster);
    const dns = runDns(
      {
        ...{ client: cluster.client, clock: systemClock, random: seededRandom(1) },
        ...{ logger: silentLogger, metrics, addresses: ["127.0.0.1"], port: 0 },
      },
      life.signal,
    );
    await dns.ready;
    port = (await dns.listening).port;
    done = dns.done;
  });

  afterAll(async () => {
    life.abort();
    await done;
    await cluster[Symbol.asyncDispose]();
  });

  const resolver = (): Resolver => {
    const one = new Resolver({ timeout: 2_000, tries: 1 });
    one.setServers([`127.0.0.1:${port}`]);
    return one;
  };

  test("node:dns resolves A, SRV and PTR of a Service", async () => {
    const name = "kubernetes.default.svc.cluster.local";
    assert.deepEqual(await resolver().resolve4(name, { ttl: true }), [
      { address: "10.96.0.1", ttl: 5 },
    ]);
    const [srv, ...more] = await resolver().resolveSrv(`_https._tcp.${name}`);
    // Newer versions of Node.js add the type of the record.
    assert.deepEqual(
      { ...srv, type: "SRV" },
      { name, port: 443, priority: 0, weight: 100, type: "SRV" },
    );
    assert.deepEqual(more, []);
    assert.deepEqual(await resolver().reverse("10.96.0.1"), [name]);
    assert.deepEqual(await resolver().resolveTxt("dns-version.cluster.local"), [["1.1.0"]]);
  });

  test("node:dns gets ENOTFOUND for NXDOMAIN, ENODATA for NODATA, EREFUSED without an upstream", async () => {
    const rejects = (asked: Promise<unknown>, code: string) => assert.rejects(asked, { code });
    await rejects(resolver().resolve4("absent.default.svc.cluster.local"), "ENOTFOUND");
    await rejects(resolver().resolve6("kubernetes.default.svc.cluster.local"), "ENODATA");
    await rejects(resolver().resolve4("example.com"), "EREFUSED");
  });

  test("node:dns falls back to TCP for a headless Service with 100 endpoints", async () => {
    const found = await resolver().resolve4("many.default.svc.cluster.local");
    assert.equal(new Set(found).size, ENDPOINTS_MANY);
    assert.match(metrics.text(), /coredns_dns_requests_total\{[^}]*proto="tcp"[^}]*\} [1-9]/);
  });

  test("a changed EndpointSlice is visible within 200 ms", async () => {
    const name = "web.default.svc.cluster.local";
    assert.deepEqual(await resolver().resolve4(name), ["10.244.0.5"]);
    await cluster.edit(endpointSliceKind, "web-1", (slice) => {
      slice.endpoints = [{ addresses: ["10.244.0.6"], conditions: { ready: true } }];
    });
    const endMs = systemClock.elapsedMs() + 200;
    let found: string[] = [];
    while (found[0] !== "10.244.0.6" && systemClock.elapsedMs() < endMs) {
      found = await resolver().resolve4(name);
    }
    assert.deepEqual(found, ["10.244.0.6"]);
  });

  describe.skipIf(missingProgram("dig") !== undefined)("dig", () => {
    const dig = async (...args: string[]): Promise<string> => {
      const flags = ["@127.0.0.1", "-p", String(port), "+tries=1", "+timeout=2", "+nostats"];
      return (await promisify(execFile)("dig", [...flags, ...args])).stdout;
    };

    test("a negative answer has the SOA record with a TTL of 5 s", async () => {
      const text = await dig("nothing.default.svc.cluster.local");
      assert.match(text, /status: NXDOMAIN/);
      assert.match(text, /flags: qr aa rd;/);
      assert.match(
        text,
        /^cluster\.local\.\t+5\tIN\tSOA\tns\.dns\.cluster\.local\. hostmaster\.cluster\.local\. \d+ 7200 1800 86400 5$/m,
      );
    });

    test("truncation: TC within 512 bytes without EDNS, more records with it", async () => {
      const name = "many.default.svc.cluster.local";
      const plain = await dig("+noedns", "+ignore", name);
      assert.match(plain, /flags: qr aa tc rd;/);
      const inPlain = answersIn(plain);
      const inEdns = answersIn(await dig("+ignore", "+bufsize=4096", name));
      assert.ok(
        inPlain > 20 && inEdns > 2 * inPlain && inEdns < ENDPOINTS_MANY,
        `${inPlain} ${inEdns}`,
      );
      assert.equal(answersIn(await dig("+tcp", name)), ENDPOINTS_MANY);
    });

    test("SRV with additional addresses, case of the question kept", async () => {
      const text = await dig("_Web._TCP.Many.default.svc.cluster.local", "SRV", "+tcp");
      assert.match(text, /;_Web\._TCP\.Many\.default/);
      assert.equal(answersIn(text), ENDPOINTS_MANY);
      assert.match(text, new RegExp(`ADDITIONAL: ${ENDPOINTS_MANY + 1}`));
    });

    test("REFUSED for CHAOS and AXFR, NOTIMP for another opcode, BADVERS for EDNS 1", async () => {
      assert.match(await dig("-c", "CH", "-t", "TXT", "version.bind"), /status: REFUSED/);
      assert.match(await dig("+opcode=2", "cluster.local"), /status: NOTIMP/);
      assert.match(await dig("+edns=1", "+noednsneg", "cluster.local"), /status: BADVERS/);
      assert.match(await dig("-t", "AXFR", "cluster.local"), /Transfer failed/);
    });

    test("ExternalName is a CNAME; one inside the cluster is followed", async () => {
      assert.match(await dig("outside.default.svc.cluster.local"), /CNAME\twww\.example\.org\./);
      const inside = await dig("inside.default.svc.cluster.local");
      assert.match(
        inside,
        /CNAME\tkubernetes\.default\.svc\.cluster\.local\.\n.*\sA\t10\.96\.0\.1/,
      );
      assert.match(await dig("loop-a.default.svc.cluster.local"), /ANSWER: 8,/);
    });
  });
});

function answersIn(text: string): number {
  return Number(/ANSWER: (\d+),/.exec(text)?.[1]);
}

async function seedCluster(cluster: Cluster): Promise<void> {
  if (cluster.get(namespaceKind, "default") === undefined) {
    await cluster.seed(namespaceKind, { metadata: { name: "default" } });
  }
  const ports = [{ name: "https", port: 443, protocol: "TCP" as const }];
  if (cluster.get(serviceKind, "kubernetes") === undefined) {
    await cluster.seed(serviceKind, {
      metadata: { name: "kubernetes" },
      spec: { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1"], ports },
    });
  }
  const external = {
    far: "kubernetes.default.svc.example.com",
    outside: "www.example.org",
    inside: "kubernetes.default.svc.cluster.local",
  };
  const loop = {
    "loop-a": "loop-b.default.svc.cluster.local",
    "loop-b": "loop-a.default.svc.cluster.local",
  };
  for (const [name, externalName] of Object.entries({ ...external, ...loop })) {
    await cluster.seed(serviceKind, {
      metadata: { name },
      spec: { type: "ExternalName", externalName },
    });
  }
  await seedHeadless(cluster, "web", ["10.244.0.5"]);
  const many = Array.from({ length: ENDPOINTS_MANY }, (_, i) => `10.244.1.${i + 1}`);
  await seedHeadless(cluster, "many", many);
}

async function seedHeadless(cluster: Cluster, name: string, ips: readonly string[]): Promise<void> {
  const web = [{ name: "web", port: 80, protocol: "TCP" as const }];
  await cluster.seed(serviceKind, {
    metadata: { name },
    spec: { clusterIP: "None", clusterIPs: ["None"], ports: web },
  });
  await cluster.seed(endpointSliceKind, {
    metadata: { name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: web,
  });
}

test("forwarding: ExternalName is followed upstream; an upstream that leads back here is not used", async () => {
  await using cluster = await startCluster();
  await seedCluster(cluster);
  const life = new AbortController();
  const lines: string[] = [];
  const logger = { ...silentLogger, error: (message: string) => void lines.push(message) };
  const common = { client: cluster.client, clock: systemClock, random: seededRandom(2), logger };
  const start = async (options: {
    port: number;
    upstreams: readonly Upstream[];
    clusterDomain?: string;
  }) => {
    const dns = runDns(
      { ...common, metrics: new Metrics(), addresses: ["127.0.0.1"], ...options },
      life.signal,
    );
    await dns.ready;
    return { dns, port: (await dns.listening).port };
  };
  // Another cluster's DNS server is the upstream: it knows names of example.com.
  const upstream = await start({ port: 0, upstreams: [], clusterDomain: "example.com" });
  const own = await freePort();
  const self = { address: "127.0.0.1", port: own };
  const far = { address: "127.0.0.1", port: upstream.port };
  const server = await start({ port: own, upstreams: [self, far] });
  const resolver = new Resolver({ timeout: 8_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${server.port}`]);
  const name = "kubernetes.default.svc.example.com";
  assert.deepEqual(await resolver.resolve4(name), ["10.96.0.1"]);
  assert.deepEqual(await resolver.resolve4("far.default.svc.cluster.local"), ["10.96.0.1"]);
  assert.deepEqual(lines, ["an upstream DNS server leads back to this one and is not used"]);
  life.abort();
  await Promise.all([server.dns.done, upstream.dns.done]);
});

test("Corefile in a ConfigMap: stub domains; changes act at once, mistakes leave the last one in place", async () => {
  await using cluster = await startCluster();
  await seedCluster(cluster);
  const life = new AbortController();
  const lines: string[] = [];
  const logger = {
    ...silentLogger,
    error: (message: string, fields?: object) =>
      void lines.push(`${message} ${JSON.stringify(fields)}`),
  };
  const common = { client: cluster.client, clock: systemClock, random: seededRandom(3), logger };
  const start = async (more: { clusterDomain?: string; configMap?: FollowedConfigMap }) => {
    const shared = { ...common, metrics: new Metrics(), addresses: ["127.0.0.1"], port: 0 };
    const dns = runDns({ ...shared, ...more }, life.signal);
    await dns.ready;
    return { dns, port: (await dns.listening).port };
  };
  const stub = await start({ clusterDomain: "acme.example" });
  const corefile = (zones: string): string =>
    `.:53 {\n  kubernetes cluster.local\n}\n${zones}:53 {\n  forward . 127.0.0.1:${stub.port}\n}`;
  const metadata = { namespace: "default", name: "coredns" };
  const own = await start({ configMap: metadata });
  const resolver = new Resolver({ timeout: 8_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${own.port}`]);
  const inStub = (): Promise<string[] | string> =>
    resolver
      .resolve4("kubernetes.default.svc.acme.example")
      .catch((error: { code: string }) => error.code);
  assert.equal(await inStub(), "EREFUSED");
  const put = (text: string): Promise<unknown> =>
    cluster.client.patch(
      configMapKind,
      metadata,
      "merge",
      { data: { Corefile: text } },
      {},
      life.signal,
    );
  await cluster.seed(configMapKind, { metadata, data: { Corefile: corefile("acme.example") } });
  await until(async () => String(await inStub()) === "10.96.0.1");
  await put(`${corefile("acme.example")}\nother { nonsense }`);
  await until(() => lines.length > 0);
  assert.match(lines.join(), /Corefile:7 - Error during parsing/);
  assert.deepEqual(await inStub(), ["10.96.0.1"]);
  await put(corefile("elsewhere.example"));
  await until(async () => (await inStub()) === "EREFUSED");
  assert.deepEqual(await resolver.resolve4("kubernetes.default.svc.cluster.local"), ["10.96.0.1"]);
  life.abort();
  await Promise.all([own.dns.done, stub.dns.done]);
});
