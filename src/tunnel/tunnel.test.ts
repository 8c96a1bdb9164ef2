import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import {
  credentials,
  Server as GrpcServer,
  ServerCredentials,
  type ServerDuplexStream,
} from "@grpc/grpc-js";
import { afterEach, describe, test } from "vitest";
import { deferred } from "#lib/async/deferred.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createEgressDialer, type EgressDialer } from "./egress-dialer.ts";
import { PACKET, type Packet, PROXY_PATH, packetMethod, type ReadPacket } from "./packet.ts";
import { runTunnelAgent } from "./run-agent.ts";
import { runTunnelServer } from "./run-server.ts";
import { TunnelServer } from "./tunnel-server.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface World {
  readonly dial: EgressDialer;
  readonly server: TunnelServer;
  startAgent(id?: string, token?: string): Promise<StartedAgent>;
}

interface StartedAgent {
  /** At once. */
  stop(): Promise<void>;
  /** `done` resolves when its last connection has ended. */
  drain(): { readonly done: Promise<void> };
}

async function world(
  mode: "grpc" | "http-connect",
  authenticate?: (token: string) => Promise<void>,
): Promise<World> {
  const dir = mkdtempSync(join(tmpdir(), "tunnel-"));
  const path = join(dir, "socket");
  const life = new AbortController();
  cleanUps.push(
    () => rmSync(dir, { recursive: true, force: true }),
    () => life.abort(),
  );
  const server = new TunnelServer(seededRandom(1));
  const { agentPort } = await runTunnelServer(
    {
      ...{ server, id: "s1", count: 1, logger: silentLogger },
      agents: { host: "127.0.0.1", port: 0 },
      frontends: { mode, at: { path } },
      ...(authenticate === undefined ? {} : { authenticate }),
    },
    life.signal,
  );
  return {
    dial: createEgressDialer(
      { protocol: mode === "grpc" ? "GRPC" : "HTTPConnect", path },
      systemClock,
      seededRandom(2),
    ),
    server,
    startAgent: async (id = "a1", token) => {
      const agentLife = new AbortController();
      const drain = new AbortController();
      const connected = deferred<void>();
      const done = runTunnelAgent(
        {
          ...{ target: `127.0.0.1:${agentPort}`, credentials: credentials.createInsecure() },
          ...{ id, identifiers: "", retryMinMs: 50, retryMaxMs: 200 },
          ...{ clock: systemClock, logger: silentLogger },
          ...(token === undefined ? {} : { token: () => token }),
          onStreams: (count) => {
            if (count > 0) connected.resolve();
          },
        },
        agentLife.signal,
        drain.signal,
      );
      const stop = async (): Promise<void> => {
        agentLife.abort();
        await done;
      };
      cleanUps.push(stop);
      await connected.promise;
      return {
        stop,
        drain: () => {
          drain.abort();
          return { done };
        },
      };
    },
  };
}

async function listen(serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const echo = (socket: Socket): void => void socket.pipe(socket);

function read(stream: Duplex, bytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.length >= bytes) resolve(text);
    });
    stream.on("error", reject);
    stream.on("close", () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
  });
}

describe.each(["http-connect", "grpc"] as const)("Konnectivity tunnel, mode %s", (mode) => {
  test("a connection goes through an agent, both ways", async () => {
    const { dial, startAgent } = await world(mode);
    await startAgent();
    const socket = await dial("127.0.0.1", await listen(echo));
    socket.write("hello");
    assert.equal(await read(socket, 5), "hello");
    socket.destroy();
  });

  test("without an agent the dial fails: No agent available", async () => {
    const { dial } = await world(mode);
    const why = mode === "grpc" ? /No agent available/ : /code 500/;
    await assert.rejects(dial("127.0.0.1", 1), why);
  });

  test("an address that refuses: the agent's reason is answered", async () => {
    const { dial, startAgent } = await world(mode);
    await startAgent();
    const why = mode === "grpc" ? /dial tcp 127.0.0.1:1: connect: connection refused/ : /code 502/;
    await assert.rejects(dial("127.0.0.1", 1), why);
  });

  test("64 connections at once, 128 KiB each, arrive whole", async () => {
    const { dial, startAgent } = await world(mode);
    await startAgent();
    const size = 128 * 1024;
    const port = await listen((socket) => void socket.end(Buffer.alloc(size, "x")));
    const lengths = await Promise.all(
      Array.from({ length: 64 }, async () => {
        let length = 0;
        for await (const chunk of await dial("127.0.0.1", port)) length += chunk.length;
        return length;
      }),
    );
    assert.deepEqual([...new Set(lengths)], [size]);
  });

  test("a reader that does not read holds the sender up: nothing is buffered without limit", async () => {
    const { dial, startAgent } = await world(mode);
    await startAgent();
    let sent = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const limit = 256 * 1024 * 1024;
    const stalled = deferred<void>();
    const port = await listen((socket) => {
      const send = (): void => {
        while (sent < limit) {
          sent += chunk.length;
          if (!socket.write(chunk)) return;
        }
      };
      socket.on("drain", send);
      send();
      let before = -1;
      const look = setInterval(() => {
        if (sent === before) {
          clearInterval(look);
          stalled.resolve();
        }
        before = sent;
      }, 500);
      socket.on("close", () => clearInterval(look));
    });
    const socket = await dial("127.0.0.1", port);
    socket.pause();
    await stalled.promise;
    assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes are under way`);
    socket.on("error", () => undefined);
    socket.destroy();
  });

  test("an agent that drains keeps its connections until they end; new ones go to the others", async () => {
    const { dial, server, startAgent } = await world(mode);
    const leaving = await startAgent("leaving");
    const port = await listen(echo);
    const old = await dial("127.0.0.1", port);
    await startAgent("staying");
    while (server.agents.length < 2) await systemClock.sleep(5);
    const { done } = leaving.drain();
    let isOver = false;
    void done.then(() => {
      isOver = true;
    });
    while (!server.agents.some(({ isDraining }) => isDraining)) await systemClock.sleep(5);
    for (let i = 0; i < 10; i++) {
      const next = await dial("127.0.0.1", port);
      next.write("new");
      assert.equal(await read(next, 3), "new");
      next.destroy();
    }
    old.write("still");
    assert.equal(await read(old, 5), "still");
    assert.equal(isOver, false);
    old.destroy();
    await done;
    assert.deepEqual(
      server.agents.map(({ id }) => id),
      ["staying"],
    );
  });

  test("a dial without an answer ends after 30 s: dial timeout, backstop", async () => {
    const clock = new VirtualClock("2030-01-01T00:00:00Z");
    const asked = deferred<void>();
    const port = await listen(() => asked.resolve());
    const protocol = mode === "grpc" ? "GRPC" : "HTTPConnect";
    const dial = createEgressDialer({ protocol, host: "127.0.0.1", port }, clock, seededRandom(2));
    const dialled = assert.rejects(dial("127.0.0.1", 1), /dial timeout, backstop/);
    await asked.promise;
    await clock.advance(30_000);
    await dialled;
  });

  test("an agent that goes ends its connections; the next one serves", async () => {
    const { dial, startAgent } = await world(mode);
    const agent = await startAgent();
    const port = await listen(echo);
    const socket = await dial("127.0.0.1", port);
    socket.on("error", () => undefined);
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.resume();
    await agent.stop();
    await closed;
    await startAgent("a2");
    const next = await dial("127.0.0.1", port);
    next.write("again");
    assert.equal(await read(next, 5), "again");
    next.destroy();
  });
});

test("GRPC: dials at the same time have numbers of their own, by which upstream's server keeps them apart", async () => {
  const seen = new Set<bigint>();
  const frontends = new GrpcServer();
  frontends.addService(
    { proxy: { path: PROXY_PATH, ...packetMethod } },
    {
      proxy: (call: ServerDuplexStream<ReadPacket, Packet>) => {
        call.on("data", ({ dialRequest }: ReadPacket) => {
          if (dialRequest === undefined) return;
          const { random = 0n } = dialRequest;
          seen.add(random);
          const dialResponse = { random, error: "seen", connectId: 0 };
          call.write({ type: PACKET.dialResponse, dialResponse });
        });
      },
    },
  );
  const insecure = ServerCredentials.createInsecure();
  const port = await new Promise<number>((resolve, reject) => {
    frontends.bindAsync("127.0.0.1:0", insecure, (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  cleanUps.push(() => frontends.forceShutdown());
  const server = { protocol: "GRPC", host: "127.0.0.1", port } as const;
  const dialers = [1, 2].map((seed) => createEgressDialer(server, systemClock, seededRandom(seed)));
  const dials = dialers.flatMap((dial) => [dial("127.0.0.1", 1), dial("127.0.0.1", 1)]);
  await Promise.all(dials.map((dialled) => assert.rejects(dialled, /seen/)));
  assert.equal(seen.size, 4);
  assert.ok([...seen].every((number) => number > 0n && number < 2n ** 62n));
});

test("Konnectivity agent --sync-forever: a server that comes later gets a stream, too", async () => {
  const dir = mkdtempSync(join(tmpdir(), "tunnel-"));
  const life = new AbortController();
  cleanUps.push(
    () => rmSync(dir, { recursive: true, force: true }),
    () => life.abort(),
  );
  const start = async (id: string, count: number) => {
    const server = new TunnelServer(seededRandom(1));
    const at = { path: join(dir, id) };
    const { agentPort } = await runTunnelServer(
      {
        ...{ server, id, count, logger: silentLogger, frontends: { mode: "grpc", at } },
        agents: { host: "127.0.0.1", port: 0 },
      },
      life.signal,
    );
    return { server, agentPort };
  };
  const [first, second] = [await start("first", 1), await start("second", 2)];
  // The address of the servers leads to the first, and later to the second.
  let leadsTo = first.agentPort;
  const port = await listen((socket) => {
    const there = connect(leadsTo, "127.0.0.1");
    for (const [from, to] of [
      [socket, there],
      [there, socket],
    ] as const) {
      from.on("error", () => to.destroy());
      from.pipe(to);
    }
  });
  const agent = (id: string, syncForever: boolean): void =>
    void runTunnelAgent(
      {
        ...{ target: `127.0.0.1:${port}`, credentials: credentials.createInsecure() },
        ...{ id, identifiers: "", retryMinMs: 10, retryMaxMs: 50, syncForever },
        ...{ clock: systemClock, logger: silentLogger },
      },
      life.signal,
    );
  agent("once", false);
  agent("for ever", true);
  while (first.server.agents.length < 2) await systemClock.sleep(5);
  leadsTo = second.agentPort;
  while (second.server.agents.length < 1) await systemClock.sleep(5);
  await systemClock.sleep(200);
  const ids = (server: TunnelServer): readonly string[] => server.agents.map(({ id }) => id).sort();
  assert.deepEqual(ids(second.server), ["for ever"]);
  assert.deepEqual(ids(first.server), ["for ever", "once"]);
});

test("Konnectivity agent: a token that the server refuses gives no stream", async () => {
  const tried = deferred<string>();
  const { server, startAgent } = await world("grpc", async (token) => {
    if (token === "right") return;
    tried.resolve(token);
    throw new Error("lookup failed: service account jwt not valid");
  });
  void startAgent("bad", "wrong");
  assert.equal(await tried.promise, "wrong");
  await startAgent("good", "right");
  assert.deepEqual(
    server.agents.map(({ id }) => id),
    ["good"],
  );
});
