/** Accepts TCP connections on a free port and joins each with a connection to an endpoint. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { IpFamily } from "#api/meta/ip-family.ts";
import { onAbort } from "#lib/async/aborted.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Balancer } from "./balancer.ts";

const CONNECTIONS_MAX = 10_000;
/** Endpoints are tried one after the other, each with more patience, as upstream's did. */
const ATTEMPT_TIMEOUTS_MS = [250, 500, 1_000, 2_000];

/** Answers the port. Open connections end with the signal. */
export async function startTcpForwarder(
  { family, balancer, clock }: { family: IpFamily; balancer: Balancer; clock: Clock },
  signal: AbortSignal,
): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    track(open, client);
    client.on("error", () => client.destroy());
    void connectToEndpoint(client, balancer, clock).then((backend) => {
      if (backend === undefined || client.destroyed) {
        backend?.destroy();
        client.resetAndDestroy();
        return;
      }
      track(open, backend);
      join(client, backend);
    });
  });
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port: 0, host: family === "IPv4" ? "0.0.0.0" : "::", ipv6Only: true }, resolve);
  });
  onAbort(signal, () => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

async function connectToEndpoint(
  client: Socket,
  balancer: Balancer,
  clock: Clock,
): Promise<Socket | undefined> {
  for (const [attempt, timeout] of ATTEMPT_TIMEOUTS_MS.entries()) {
    const endpoint = balancer.pick(client.remoteAddress ?? "", clock.nowMs(), attempt > 0);
    if (endpoint === undefined) return undefined;
    const backend = await connectOnce(endpoint.ip, endpoint.port, timeout);
    if (backend !== undefined) return backend;
  }
  return undefined;
}

function connectOnce(host: string, port: number, timeout: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const backend = connect({ host, port, allowHalfOpen: true });
    const fail = (): void => {
      backend.destroy();
      resolve(undefined);
    };
    backend.setTimeout(timeout, fail);
    backend.once("error", fail);
    backend.once("connect", () => {
      backend.setTimeout(0);
      backend.removeListener("error", fail);
      resolve(backend);
    });
  });
}

/** The end of one direction ends only that; an error ends both. */
function join(client: Socket, backend: Socket): void {
  const end = (): void => {
    client.destroy();
    backend.destroy();
  };
  client.on("error", end).on("close", end);
  backend.on("error", end).on("close", end);
  client.pipe(backend);
  backend.pipe(client);
}

function track(open: Set<Socket>, socket: Socket): void {
  open.add(socket);
  socket.once("close", () => open.delete(socket));
}
