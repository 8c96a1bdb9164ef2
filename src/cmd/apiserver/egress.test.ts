/** etcd and webhooks of the control plane through a Konnectivity tunnel. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { afterEach, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import type { Store } from "#store/contract.ts";
import { type EtcdOptions, openEtcdStore } from "#store/etcd.ts";
import { runTunnelAgent } from "#tunnel/run-agent.ts";
import { runTunnelServer } from "#tunnel/run-server.ts";
import { TunnelServer } from "#tunnel/tunnel-server.ts";
import { startWebhook } from "../../../test/apiserver/webhook-server.ts";
import { startEtcd } from "../../../test/store/etcd-cluster.ts";
import { type EgressDialers, egressDialers } from "./egress.ts";
import { webhookFrom } from "./webhook-call.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface World {
  readonly directory: string;
  readonly dialers: EgressDialers;
  /** Ends the only way there is. */
  stopAgent(): Promise<void>;
}

type Transport = "a unix socket" | "TCP" | "TCP with TLS";

async function world(proxyProtocol: "HTTPConnect" | "GRPC", transport: Transport): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), "egress-"));
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const life = new AbortController();
  cleanUps.push(() => life.abort());
  const path = join(directory, "socket");
  const server = new TunnelServer(seededRandom(1));
  const mode = proxyProtocol === "GRPC" ? "grpc" : "http-connect";
  const files = transport === "TCP with TLS" ? writePki(directory) : undefined;
  const place = { host: "127.0.0.1", port: 0, ...(files && { tls: files.server }) };
  const { agentPort, frontendPort } = await runTunnelServer(
    {
      ...{ server, id: "s1", count: 1, logger: silentLogger },
      agents: { host: "127.0.0.1", port: 0 },
      frontends: { mode, at: transport === "a unix socket" ? { path } : place },
    },
    life.signal,
  );
  const agentLife = new AbortController();
  const agent = runTunnelAgent(
    {
      ...{ target: `127.0.0.1:${agentPort}`, credentials: credentials.createInsecure() },
      ...{ id: "a1", identifiers: "", retryMinMs: 20, retryMaxMs: 100 },
      ...{ clock: systemClock, logger: silentLogger },
    },
    agentLife.signal,
  );
  const stopAgent = async (): Promise<void> => {
    agentLife.abort();
    await agent;
  };
  cleanUps.push(stopAgent);
  while (server.agents.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const file = join(directory, "egress.json");
  const transports = {
    "a unix socket": { uds: { udsName: path } },
    TCP: { tcp: { url: `http://127.0.0.1:${frontendPort}` } },
    "TCP with TLS": {
      tcp: { url: `https://127.0.0.1:${frontendPort}`, tlsConfig: files?.client },
    },
  };
  const connection = { proxyProtocol, transport: transports[transport] };
  const egressSelections = ["etcd", "controlplane"].map((name) => ({ name, connection }));
  const head = { apiVersion: "apiserver.k8s.io/v1beta1", kind: "EgressSelectorConfiguration" };
  writeFileSync(file, JSON.stringify({ ...head, egressSelections }));
  return { directory, dialers: egressDialers(file), stopAgent };
}

/** The server's own files as text, those of the API server by name. */
function writePki(directory: string) {
  const nowMs = Date.now();
  const authority = openAuthority(join(directory, "pki"), "tunnel-ca", nowMs);
  const issue = (purpose: "server auth" | "client auth") =>
    issueLeaf(
      authority,
      { subject: { commonName: "tunnel" }, purpose, altNames: ["127.0.0.1"] },
      nowMs,
    );
  const write = (name: string, pem: string): string => {
    writeFileSync(join(directory, name), pem, { mode: 0o600 });
    return join(directory, name);
  };
  const [own, theirs] = [issue("server auth"), issue("client auth")];
  return {
    server: { cert: own.certificatePem, key: own.keyPem, ca: authority.certificatePem },
    client: {
      caBundle: write("authority.pem", authority.certificatePem),
      clientCert: write("client.pem", theirs.certificatePem),
      clientKey: write("client.key", theirs.keyPem),
    },
  };
}

const WAYS = (["HTTPConnect", "GRPC"] as const).flatMap((protocol) =>
  (["a unix socket", "TCP", "TCP with TLS"] as const).map((transport) => ({ protocol, transport })),
);

describe.each(WAYS)("egress selector, $protocol over $transport", ({ protocol, transport }) => {
  test("etcd: the store works through the tunnel, and not without an agent", async () => {
    const { dialers, stopAgent } = await world(protocol, transport);
    const etcd = await startEtcd();
    cleanUps.push(() => etcd[Symbol.asyncDispose]());
    const options = { endpoints: etcd.endpoints, dial: dialers.etcd, clock: systemClock };
    const store = await opened(options);
    cleanUps.push(() => store[Symbol.asyncDispose]());
    assert.ok(dialers.etcd !== undefined && (await store.currentRevision()) > 0);
    await stopAgent();
    await assert.rejects(openEtcdStore({ ...options, callTimeoutMs: 500 }));
  });

  test("controlplane: a webhook is asked through the tunnel, and not without an agent", async () => {
    const { directory, dialers, stopAgent } = await world(protocol, transport);
    const hook = await startWebhook(directory, "hook", () => ({ allowed: true }));
    cleanUps.push(() => hook[Symbol.asyncDispose]());
    const connect = dialers.controlplane;
    const ask = webhookFrom(hook.kubeconfig, { timeoutMs: 5_000, connect });
    assert.deepEqual(await ask({ question: 1 }), { question: 1, status: { allowed: true } });
    await stopAgent();
    const again = webhookFrom(hook.kubeconfig, { timeoutMs: 5_000, connect });
    await assert.rejects(again({ question: 2 }));
    assert.equal(hook.asked.length, 1);
  });
});

/** etcd may not listen yet. */
async function opened(options: EtcdOptions): Promise<Store> {
  for (;;) {
    try {
      return await openEtcdStore(options);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
