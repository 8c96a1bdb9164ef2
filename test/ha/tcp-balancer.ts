/** A TCP load balancer as people put one in front of API servers: it asks /readyz of each, and passes bytes on. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { askHttps, type HttpsPlace } from "../apiserver/https-ask.ts";

export interface TcpBalancer extends AsyncDisposable {
  readonly port: number;
  /** Servers that answered their last check. */
  ready(): readonly HttpsPlace[];
}

const CHECK_EVERY_MS = 100;
const CHECK_WITHIN_MS = 1_000;

export async function startTcpBalancer(
  places: readonly HttpsPlace[],
  token: string,
): Promise<TcpBalancer> {
  const life = new AbortController();
  const ready = new Set<HttpsPlace>();
  const sockets = new Set<Socket>();
  const check = async (place: HttpsPlace): Promise<void> => {
    while (!life.signal.aborted) {
      const isReady = await Promise.race([
        askHttps(place, { path: "/readyz", token }).then(
          ({ code }) => code === 200,
          () => false,
        ),
        sleep(CHECK_WITHIN_MS, false),
      ]);
      if (isReady) ready.add(place);
      else ready.delete(place);
      await sleep(CHECK_EVERY_MS);
    }
  };
  const checks = places.map(check);
  let turn = 0;
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const [...choice] = ready;
    const place = choice[turn++ % Math.max(1, choice.length)];
    sockets.add(client);
    client.on("close", () => sockets.delete(client));
    client.on("error", () => undefined);
    if (place === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect({ host: "127.0.0.1", port: place.port, allowHalfOpen: true });
    upstream.on("error", () => client.destroy());
    client.pipe(upstream);
    upstream.pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroySoon());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    port,
    ready: () => [...ready],
    async [Symbol.asyncDispose]() {
      life.abort();
      for (const socket of sockets) socket.destroy();
      server.close();
      await Promise.all(checks);
    },
  };
}
