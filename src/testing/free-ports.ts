/**
 * Ports of this machine that no server listens on, for programs that must be given theirs; all others
 * take port 0. They lie below those that the system hands out to servers on port 0 and to clients. No
 * port is handed out twice, and test runs and their workers begin at different ones, so that a port is
 * still free when the program takes it.
 */
import { once } from "node:events";
import { createServer, type Server } from "node:net";

const FIRST = 12_000;
const LAST = 29_999;
/** More than there are workers at the same time. */
const WORKERS_MAX = 16;

/** Of this worker. */
const state = { handedOut: 0 };

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

/** All of them different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  const ports: number[] = [];
  while (ports.length < count) {
    const port = nextPort(state.handedOut++);
    const server = await listen(port);
    if (server === undefined) continue;
    servers.push(server);
    ports.push(port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

const PORTS_PER_WORKER = Math.floor((LAST - FIRST) / WORKERS_MAX);
/** Spreads process numbers, of which neighbours run at the same time. */
const STEP = 389;

function nextPort(handedOut: number): number {
  const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS_MAX;
  const index = (process.pid * STEP + handedOut) % PORTS_PER_WORKER;
  return FIRST + worker + WORKERS_MAX * index;
}

/** Undefined if the port is in use. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
