/** `--tracing-config-file`: spans of requests at a real OTLP collector. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test, vi } from "vitest";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { startKmsPlugin } from "#apiserver/encryption/kms/kms-plugin.testing.ts";
import { parseFlags } from "#cmd/apiserver/flags/flags.ts";
import { openTracing } from "#cmd/apiserver/tracing.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { askHttps, type HttpsAsk } from "./https-ask.ts";
import { startTestServer } from "./test-server.ts";
import { type ReceivedSpan, startTraceCollector } from "./trace-collector.ts";

const TOKENS = 'tok,admin,1,"system:masters"\nreader,ann,2\n';
const CLIENT = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const TRACEPARENT = `00-${CLIENT.traceId}-${CLIENT.spanId}-01`;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const SECRETS = "/api/v1/namespaces/default/secrets";
const missing = missingProgram("etcd");

describe("tracing (--tracing-config-file)", { timeout: 60_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-test-tracing-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  let files = 0;
  const configFile = (config: object): string => {
    const file = join(directory, `tracing-${files++}.yaml`);
    const head = { apiVersion: "apiserver.k8s.io/v1", kind: "TracingConfiguration" };
    writeFileSync(file, JSON.stringify({ ...head, ...config }));
    return file;
  };

  /** Allows everything and keeps the header `traceparent` of what it is asked. */
  async function startAdmissionWebhook() {
    const nowMs = Date.now();
    const authority = openAuthority(join(directory, "hook-ca"), "hook-ca", nowMs);
    const purpose = { purpose: "server auth", altNames: ["127.0.0.1"] } as const;
    const leaf = issueLeaf(authority, { subject: { commonName: "hook" }, ...purpose }, nowMs);
    const traceparents: string[] = [];
    const server = createServer(
      { cert: leaf.certificatePem, key: leaf.keyPem },
      async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk);
        traceparents.push(String(request.headers.traceparent));
        const { uid } = JSON.parse(Buffer.concat(chunks).toString()).request;
        const head = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" };
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ ...head, response: { uid, allowed: true } }));
      },
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const caBundle = Buffer.from(authority.certificatePem).toString("base64");
    const configMaps = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
    return {
      traceparents,
      configuration: {
        metadata: { name: "hook" },
        webhooks: [
          {
            ...{ name: "hook.example.com", sideEffects: "None", admissionReviewVersions: ["v1"] },
            clientConfig: { url: `https://127.0.0.1:${port}/validate`, caBundle },
            rules: [{ ...configMaps, operations: ["CREATE"] }],
          },
        ],
      },
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        server.close();
      },
    };
  }

  test("a request of system:masters continues the client's trace, down to the webhook that it calls", async () => {
    await using collector = await startTraceCollector();
    const file = configFile({ endpoint: collector.endpoint, samplingRatePerMillion: 0 });
    await using hook = await startAdmissionWebhook();
    {
      await using server = await startTestServer({
        tokens: TOKENS,
        flags: [`--tracing-config-file=${file}`],
      });
      const hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
      const registered = { method: "POST", path: hooks, body: hook.configuration, token: "tok" };
      assert.equal((await askHttps(server, registered)).code, 201);
      await vi.waitFor(
        async () => {
          const probe = { metadata: { generateName: "probe-" } };
          await askHttps(server, { method: "POST", path: CONFIG_MAPS, body: probe, token: "tok" });
          assert.ok(hook.traceparents.length > 0);
        },
        { timeout: 30_000 },
      );
      const headers = { traceparent: TRACEPARENT };
      const body = { metadata: { name: "traced" } };
      const ask = { method: "POST", path: CONFIG_MAPS, body, token: "tok", headers };
      assert.equal((await askHttps(server, ask)).code, 201);
      assert.equal((await askHttps(server, { path: CONFIG_MAPS, token: "tok" })).code, 200);
    }
    const { spans } = collector;
    const names = spans.map(({ name }) => name).sort();
    assert.deepEqual(names, [
      "Call validating webhook",
      "Create",
      "Create etcd3",
      "HTTP POST",
      "POST /api/v1/namespaces/{:namespace}/configmaps",
    ]);
    const call = spans.find(({ name }) => name === "HTTP POST") as ReceivedSpan;
    assert.equal(call.kind, 3);
    const hookCall = spans.find(({ name }) => name.startsWith("Call")) as ReceivedSpan;
    assert.equal(call.parentSpanId, hookCall.spanId);
    const { UID: _, ...asked } = hookCall.attributes;
    assert.deepEqual(asked, {
      configuration: "hook",
      webhook: "hook.example.com",
      resource: "/v1, Resource=configmaps",
      subresource: "",
      operation: "CREATE",
    });
    assert.equal(hook.traceparents.at(-1), `00-${CLIENT.traceId}-${call.spanId}-01`);
    assert.ok(spans.every(({ traceId }) => traceId === CLIENT.traceId));
    const request = spans.find(({ name }) => name.startsWith("POST")) as ReceivedSpan;
    assert.equal(request.parentSpanId, CLIENT.spanId);
    assert.equal(spans.find(({ name }) => name === "Create")?.parentSpanId, request.spanId);
    assert.equal(request.kind, 2);
    assert.equal(request.attributes["http.response.status_code"], 201);
    assert.equal(request.attributes["http.target"], CONFIG_MAPS);
    assert.equal(request.resource["service.name"], "apiserver");
    assert.ok(request.durationMs >= 0 && request.durationMs < 60_000);
  });

  test.skipIf(missing !== undefined)(
    `spans of writes on etcd, of KMS and of the calls to etcd${missing ? ` (${missing})` : ""}`,
    async () => {
      await using etcd = await startEtcd();
      await using collector = await startTraceCollector();
      const socket = join(directory, "kms.sock");
      await using _plugin = await startKmsPlugin(socket);
      const encryption = join(directory, "encryption.yaml");
      const kms = `{kms: {apiVersion: v2, name: kms-a, endpoint: "unix://${socket}"}}`;
      const rule = `{resources: [secrets], providers: [${kms}]}`;
      writeFileSync(
        encryption,
        `{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [${rule}]}`,
      );
      const file = configFile({ endpoint: collector.endpoint, samplingRatePerMillion: 0 });
      {
        await using server = await startTestServer({
          tokens: TOKENS,
          flags: [
            ...[`--etcd-servers=${etcd.endpoints.join(",")}`, `--tracing-config-file=${file}`],
            `--encryption-provider-config=${encryption}`,
          ],
        });
        const ask = (request: HttpsAsk) =>
          askHttps(server, { ...request, token: "tok", headers: { traceparent: TRACEPARENT } });
        const body = { metadata: { name: "traced" } };
        assert.equal((await ask({ method: "POST", path: SECRETS, body })).code, 201);
        const path = `${SECRETS}/traced`;
        const { json } = await ask({ path });
        const changed = { ...json, data: { a: "" } };
        assert.equal((await ask({ method: "PUT", path, body: changed })).code, 200);
      }
      const { spans } = collector;
      const below = (parent: ReceivedSpan | undefined): string[] =>
        spans
          .filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
          .map(({ name }) => name)
          .sort();
      const named = (name: string) => spans.find((span) => span.name === name);
      const stored = ["TransformToStorage with envelopeTransformer", "etcdserverpb.KV/Txn"];
      assert.deepEqual(below(named("Create etcd3")), stored);
      assert.deepEqual(below(named("GuaranteedUpdate etcd3")), stored);
      assert.ok(below(named("Create")).includes("Create etcd3"));
      assert.ok(below(named("Get")).includes("etcdserverpb.KV/Range"));
      assert.deepEqual(named("Create etcd3")?.attributes, {
        ...{ key: "/registry/secrets/default/traced", type: "*core.Secret" },
        ...{ group: "", resource: "secrets" },
      });
      const call = named("etcdserverpb.KV/Txn");
      assert.equal(call?.kind, 3);
      assert.equal(call?.attributes["rpc.system.name"], "grpc");
      assert.equal(call?.attributes["rpc.response.status_code"], "OK");
      const transform = named("TransformToStorage with envelopeTransformer");
      assert.equal(transform?.attributes["transformer.provider.name"], "kms-a");
    },
  );

  test("traceparent of any other user is a link: the sampling rate decides", async () => {
    await using collector = await startTraceCollector();
    const sampled = configFile({ endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 });
    {
      await using server = await startTestServer({
        tokens: TOKENS,
        flags: [`--tracing-config-file=${sampled}`],
      });
      const headers = { traceparent: TRACEPARENT };
      assert.equal(
        (await askHttps(server, { path: "/version", token: "reader", headers })).code,
        200,
      );
    }
    const span = collector.spans.find(({ attributes }) => attributes["url.path"] === "/version");
    assert.ok(span !== undefined, collector.spans.map(({ name }) => name).join());
    assert.equal(span.name, "GET");
    assert.notEqual(span.traceId, CLIENT.traceId);
    assert.deepEqual(span.links, [`${CLIENT.traceId}/${CLIENT.spanId}`]);
  });

  test("a collector that is dead: requests are answered, spans are dropped", async () => {
    const file = configFile({ endpoint: "127.0.0.1:1", samplingRatePerMillion: 1_000_000 });
    await using server = await startTestServer({
      tokens: TOKENS,
      flags: [`--tracing-config-file=${file}`],
    });
    for (let round = 0; round < 30; round++) {
      const asked = Array.from({ length: 20 }, () => server.client.list(configMapKind));
      await Promise.all(asked);
    }
    assert.equal((await askHttps(server, { path: "/readyz", token: "tok" })).code, 200);
  });

  test.each([
    {
      config: { samplingRatePerMillion: -1 },
      says: "failed to validate tracing configuration: samplingRatePerMillion: Invalid value: -1: sampling rate must be positive",
    },
    {
      config: { samplingRatePerMillion: 1_000_001 },
      says: "failed to validate tracing configuration: samplingRatePerMillion: Invalid value: 1000001: sampling rate per million must be less than or equal to one million",
    },
    {
      config: { endpoint: "https://localhost:4317" },
      says: 'failed to validate tracing configuration: endpoint: Invalid value: "https://localhost:4317": unsupported scheme: https.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md',
    },
    {
      config: { nope: 1 },
      says: 'failed to read tracing config: unable to decode tracing configuration data: strict decoding error: unknown field "nope"',
    },
  ])("TracingConfiguration $config is refused", ({ config, says }) => {
    const flags = parseFlags([
      "--data-dir",
      directory,
      "--tracing-config-file",
      configFile(config),
    ]);
    const surroundings = {
      ...{ clock: systemClock, random: systemRandom, logger: silentLogger, identity: "test" },
    };
    assert.throws(() => openTracing(flags, surroundings), { name: "FlagError", message: says });
  });
});
