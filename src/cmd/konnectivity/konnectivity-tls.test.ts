/** Konnectivity with TLS on both sides, several servers and agents, and agents that drain. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { credentials } from "@grpc/grpc-js";
import { afterEach, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom, systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { type ClientTls, channelCredentials } from "#tunnel/channel-credentials.ts";
import { createEgressDialer, type EgressDialer } from "#tunnel/egress-dialer.ts";
import { runTunnelAgent } from "#tunnel/run-agent.ts";
import { runTunnelServer, type TlsFiles } from "#tunnel/run-server.ts";
import { type Strategy, TunnelServer } from "#tunnel/tunnel-server.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Pki {
  readonly server: TlsFiles;
  readonly client: ClientTls;
  /** Trusts the server, but shows no certificate. */
  readonly stranger: ClientTls;
}

function pki(): Pki {
  const directory = mkdtempSync(join(tmpdir(), "konnectivity-"));
  cleanUps.push(() => rmSync(directory, { recursive: true, force: true }));
  const nowMs = Date.now();
  const authority = openAuthority(join(directory, "ca"), "tunnel-ca", nowMs);
  const ca = authority.certificatePem;
  const issue = (purpose: "server auth" | "client auth") => {
    const subject = { commonName: purpose.replace(" ", "-") };
    const leaf = issueLeaf(authority, { subject, purpose, altNames: ["127.0.0.1"] }, nowMs);
    return { cert: leaf.certificatePem, key: leaf.keyPem };
  };
  return {
    server: { ...issue("server auth"), ca },
    client: { ...issue("client auth"), ca },
    stranger: { ca },
  };
}

interface Started {
  readonly server: TunnelServer;
  readonly agentPort: number;
  readonly frontendPort: number;
}

async function startServer(
  mode: "grpc" | "http-connect",
  { tls, id = "s1", count = 1, strategies }: ServerOptions = {},
): Promise<Started> {
  const life = new AbortController();
  cleanUps.push(() => life.abort());
  const server = new TunnelServer(seededRandom(1), strategies);
  const place = { host: "127.0.0.1", port: 0, tls };
  const ports = await runTunnelServer(
    { server, id, count, logger: silentLogger, agents: place, frontends: { mode, at: place } },
    life.signal,
  );
  return { server, ...ports };
}

interface ServerOptions {
  readonly tls?: TlsFiles;
  readonly id?: string;
  readonly count?: number;
  readonly strategies?: readonly Strategy[];
}

function startAgent(
  port: number,
  { id = "a1", tls, identifiers = "" }: { id?: string; tls?: ClientTls; identifiers?: string } = {},
): { stop(): Promise<void> } {
  const life = new AbortController();
  const run = async (): Promise<void> => {
    const made = tls === undefined ? undefined : await channelCredentials("127.0.0.1", tls);
    await runTunnelAgent(
      {
        ...{ target: `127.0.0.1:${port}`, id, identifiers, retryMinMs: 20, retryMaxMs: 100 },
        credentials: made?.credentials ?? credentials.createInsecure(),
        ...(made === undefined ? {} : { channelOptions: made.options }),
        ...{ clock: systemClock, logger: silentLogger },
      },
      life.signal,
    );
  };
  const done = run();
  const stop = async (): Promise<void> => {
    life.abort();
    await done;
  };
  cleanUps.push(stop);
  return { stop };
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUps.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

function dialer(
  mode: "grpc" | "http-connect",
  port: number,
  tls: ClientTls | undefined,
): EgressDialer {
  const protocol = mode === "grpc" ? "GRPC" : "HTTPConnect";
  const secured = tls === undefined ? {} : { tls: () => tls };
  return createEgressDialer(
    { protocol, host: "127.0.0.1", port, ...secured },
    systemClock,
    systemRandom,
  );
}

describe.each(["http-connect", "grpc"] as const)("Konnectivity over TCP, mode %s", (mode) => {
  test("TLS with client certificates on both sides: a connection goes through", async () => {
    const { server: tls, client } = pki();
    const { server, agentPort, frontendPort } = await startServer(mode, { tls });
    startAgent(agentPort, { tls: client });
    await until(() => server.agents.length === 1);
    const port = await listen((socket) => void socket.end("secured"));
    const answer = await buffer(await dialer(mode, frontendPort, client)("127.0.0.1", port));
    assert.equal(String(answer), "secured");
  });

  test("a client without a certificate is refused", async () => {
    const { server: tls, client, stranger } = pki();
    const { server, agentPort, frontendPort } = await startServer(mode, { tls });
    startAgent(agentPort, { tls: client });
    await until(() => server.agents.length === 1);
    await assert.rejects(dialer(mode, frontendPort, stranger)("127.0.0.1", 1));
  });

  test("an agent without a certificate gets no stream", async () => {
    const { server: tls, client, stranger } = pki();
    const { server, agentPort } = await startServer(mode, { tls });
    startAgent(agentPort, { id: "stranger", tls: stranger });
    startAgent(agentPort, { id: "known", tls: client });
    await until(() => server.agents.length > 0);
    assert.deepEqual(
      server.agents.map(({ id }) => id),
      ["known"],
    );
  });
});

test("Konnectivity agent (--server-count 2): dials until it has a stream to each of two servers behind one address", async () => {
  const one = await startServer("grpc", { id: "s1", count: 2 });
  const two = await startServer("grpc", { id: "s2", count: 2 });
  let next = 0;
  const balancer = await listen((socket) => {
    const { agentPort } = next++ % 3 === 2 ? two : one; // the first server twice in a row
    const backend = connect(agentPort, "127.0.0.1");
    backend.on("error", () => socket.destroy());
    socket.on("close", () => backend.destroy());
    socket.pipe(backend).pipe(socket);
  });
  startAgent(balancer);
  await until(() => one.server.agents.length === 1 && two.server.agents.length === 1);
});

test("Konnectivity server: an agent that drains gets no new connections, the other one all", async () => {
  const { server, agentPort, frontendPort } = await startServer("http-connect");
  const leaving = startAgent(agentPort, { id: "leaving" });
  startAgent(agentPort, { id: "staying" });
  await until(() => server.agents.length === 2);
  const port = await listen((socket) => void socket.end("served"));
  const dial = dialer("http-connect", frontendPort, undefined);
  await leaving.stop();
  for (let i = 0; i < 20; i++) {
    assert.equal(String(await buffer(await dial("127.0.0.1", port))), "served");
  }
});

test("Konnectivity server: --proxy-strategies destHost chooses the agent that names the host", async () => {
  const { server, agentPort, frontendPort } = await startServer("grpc", {
    strategies: ["destHost"],
  });
  startAgent(agentPort, { id: "other", identifiers: "host=elsewhere" });
  startAgent(agentPort, { id: "own", identifiers: "ipv4=127.0.0.1" });
  await until(() => server.agents.length === 2);
  const port = await listen((socket) => void socket.end("found"));
  const dial = dialer("grpc", frontendPort, undefined);
  assert.equal(String(await buffer(await dial("127.0.0.1", port))), "found");
  await assert.rejects(dial("127.0.0.2", port), /No agent available/);
});
