/** Authorities that are replaced while clients are connected. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:http2";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import { deferred } from "#lib/async/deferred.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import type { KeyPair } from "#pki/key-pair.ts";
import { startHttpThread } from "../http-thread/http-thread.ts";
import {
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
  type TlsOptions,
} from "./http-server.ts";

describe.each([
  ["in this thread", startHttpServer],
  ["in the HTTP thread", (options: HttpServerOptions) => startHttpThread().listen(options)],
])("HTTP server: %s", (_, start) => {
  let server: HttpServer;
  let tlsFor: (...authorities: KeyPair[]) => TlsOptions;
  let authorities: readonly [KeyPair, KeyPair];
  let clients: readonly [Client, Client];
  /** Answers wait for it. */
  let hold: Promise<void> | undefined;
  /** How many do. */
  let held = 0;

  beforeAll(async () => {
    const directory = mkdtempSync(join(tmpdir(), "k8ts-test-authorities-"));
    const nowMs = systemClock.nowMs();
    const [one, two] = ["one", "two"].map((name) =>
      openAuthority(join(directory, name), name, nowMs),
    );
    rmSync(directory, { recursive: true, force: true });
    const serving = issueLeaf(
      one!,
      { subject: { commonName: "s" }, purpose: "server auth" },
      nowMs,
    );
    authorities = [one!, two!];
    const client = (authority: typeof one, commonName: string): Client =>
      new Client(
        issueLeaf(authority!, { subject: { commonName }, purpose: "client auth" }, nowMs),
        () => server.port,
      );
    clients = [client(one, "jane"), client(two, "john")];
    tlsFor = (...trusted) => {
      const clientCaPem = trusted.map(({ certificatePem }) => certificatePem).join("");
      return {
        context: { key: serving.keyPem, cert: serving.certificatePem, ca: clientCaPem },
        authorities: { clientCaPem },
      };
    };
    server = await start({
      tls: tlsFor(one!),
      host: "127.0.0.1",
      port: 0,
      clock: systemClock,
      logger: silentLogger,
      handle: async ({ peer }, reply) => {
        if (hold !== undefined) held += 1;
        await hold;
        reply.send(200, {}, Buffer.from(peer.certificate?.commonName ?? "anonymous"));
      },
      upgrade: async () => undefined,
    });
  });

  afterAll(async () => {
    for (const client of clients) client.close();
    await server.close(0);
  });

  const until = async (...want: string[]): Promise<void> => {
    let got: string[] = [];
    for (let tries = 0; tries < 200; tries++) {
      got = await Promise.all(clients.map((client) => client.ask()));
      if (got.join() === want.join()) return;
      await systemClock.sleep(5); // the HTTP thread gets the change a little later
    }
    assert.deepEqual(got, want);
  };

  test("end idle connections of HTTP/2 whose client was not trusted", async () => {
    const session = connect(`https://127.0.0.1:${server.port}`, clients[1].identity);
    await once(session.request().resume(), "end");
    const ended = once(session, "close");
    server.renew(tlsFor(...authorities));
    await ended;
    server.renew(tlsFor(authorities[0]));
  });

  test("count for connections that are open, too", async () => {
    await until("jane", "anonymous");
    server.renew(tlsFor(...authorities));
    await until("jane", "john");
    server.renew(tlsFor(authorities[1]));
    await until("anonymous", "john");
  });

  test("count for connections that were busy when they came", async () => {
    server.renew(tlsFor(authorities[0]));
    await until("jane", "anonymous");
    for (const client of clients) client.close(); // the next handshake refuses one of them
    await until("jane", "anonymous");
    const { promise, resolve } = deferred<void>();
    hold = promise;
    const asked = clients.map((client) => client.ask());
    while (held < clients.length) await systemClock.sleep(1);
    server.renew(tlsFor(...authorities));
    await systemClock.sleep(50); // most likely the HTTP thread has the change by then
    hold = undefined;
    resolve();
    assert.deepEqual(await Promise.all(asked), ["jane", "anonymous"]);
    await until("jane", "john");
  });
});

/** Keeps one connection as long as the server does. */
class Client {
  readonly identity: { readonly cert: string; readonly key: string; rejectUnauthorized: false };
  readonly #agent: Agent;
  readonly #port: () => number;

  constructor({ certificatePem: cert, keyPem: key }: KeyPair, port: () => number) {
    this.identity = { cert, key, rejectUnauthorized: false };
    this.#agent = new Agent({ keepAlive: true, maxSockets: 1, ...this.identity });
    this.#port = port;
  }

  ask(): Promise<string> {
    return new Promise((resolve) => {
      const outgoing = request({ host: "127.0.0.1", port: this.#port(), agent: this.#agent });
      outgoing.on("error", ({ message }) => resolve(message)); // the connection has just ended
      outgoing.on("response", (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve(text));
      });
      outgoing.end();
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
