/**
 * Ports of this machine that nobody listens on, for programs that are told theirs. Nobody is given
 * them by chance before the program takes them: they lie below those that the system hands out, to
 * whoever listens on any port or connects to somewhere, and each worker of the tests has its own.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:net";

const FIRST = 12_000;
const LAST = 29_999;
/** More than there are workers at the same time. */
const WORKERS_MAX = 16;

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port!;
}

/** All of them different. */
export async function freePorts(count: number): Promise<number[]> {
  const servers: Server[] = [];
  const ports: number[] = [];
  while (ports.length < count) {
    const port = anyPort();
    const server = await listen(port);
    if (server === undefined) continue;
    servers.push(server);
    ports.push(port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function anyPort(): number {
  const worker = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS_MAX;
  return FIRST + worker + WORKERS_MAX * randomInt(Math.floor((LAST - FIRST) / WORKERS_MAX));
}

/** Answers nothing if somebody else listens there. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
