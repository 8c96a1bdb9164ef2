/**
 * A connection whose server does not answer is reset. A mere close would leave requests in the kernel, which
 * delivers them when a broken network is whole again, long after their client has given them up.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, test } from "vitest";
import { systemClock } from "#lib/time/system-clock.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { connectHttp2, type TlsOptions } from "./connect-http2.ts";
import { settingsFrame } from "./frames.ts";
import { encodeHeaders } from "./hpack-encode.ts";

const directory = mkdtempSync(join(tmpdir(), "k8ts-http2-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const authority = openAuthority(join(directory, "ca"), "ca", systemClock.nowMs());
const { certificatePem: cert, keyPem: key } = issueLeaf(
  authority,
  { subject: { commonName: "server" }, purpose: "server auth", altNames: ["127.0.0.1"] },
  systemClock.nowMs(),
);

interface Silent extends Disposable {
  readonly port: number;
  /** How the client's connection ended, as the server sees it. */
  readonly ended: Promise<string>;
}

/** Says its settings, reads what comes, and answers nothing. */
async function serveSilently(server: Server): Promise<Silent> {
  const ended = new Promise<string>((resolve) => {
    const onSocket = (socket: Socket): void => {
      socket.write(settingsFrame([]));
      socket.resume();
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
      socket.on("end", () => resolve("closed"));
    };
    server.on(
      server.listenerCount("secureConnection") > 0 ? "secureConnection" : "connection",
      onSocket,
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { port, ended, [Symbol.dispose]: () => server.close() };
}

const rows = [
  { over: "TCP", make: () => createServer(), tls: undefined },
  {
    over: "TLS",
    make: () => createTlsServer({ cert, key, ALPNProtocols: ["h2"] }, () => undefined),
    tls: { ca: authority.certificatePem },
  },
] satisfies { over: string; make: () => Server; tls: TlsOptions | undefined }[];

for (const { over, make, tls } of rows) {
  test(`HTTP/2 over ${over}: a connection that keep-alive gives up is reset, one that is closed is not`, async () => {
    for (const end of ["ECONNRESET", "closed"]) {
      using server = await serveSilently(make());
      const keepAlive = end === "closed" ? undefined : { idleMs: 5, answerMs: 5 };
      const connection = await connectHttp2({
        address: { host: "127.0.0.1", port: server.port },
        tls,
        clock: systemClock,
        connectTimeoutMs: 60_000,
        signal: new AbortController().signal,
        keepAlive,
        onEnd: () => undefined,
      });
      const stream = connection.open(encodeHeaders([[":method", "GET"]]), {
        onHeaders: () => undefined,
        onData: () => undefined,
        onClose: () => undefined,
      });
      stream.write(Buffer.from("request"), true);
      if (end === "closed") connection.close();
      assert.equal(await server.ended, end);
    }
  });
}
