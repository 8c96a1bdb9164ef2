import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, test } from "vitest";
import { silentLogger } from "#lib/logger.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { type Authority, issueLeaf, openAuthority } from "#pki/authority.ts";
import { startHttpThread } from "../http-thread/http-thread.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "./http-server.ts";

const directory = mkdtempSync(join(tmpdir(), "k8ts-named-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const nowMs = systemClock.nowMs();
const authority: Authority = openAuthority(join(directory, "ca"), "test", nowMs);

function pairOf(commonName: string, altNames: readonly string[]) {
  const request = { subject: { commonName }, purpose: "server auth", altNames } as const;
  const { certificatePem: cert, keyPem: key } = issueLeaf(authority, request, nowMs);
  return { cert, key };
}

const own = pairOf("own", ["own.test", "both.test"]);
const NAMED = [
  { names: ["given.test", "*.wide.test"], ...pairOf("given", ["hidden.test", "both.test"]) },
  { names: [], ...pairOf("shop.test", ["a.wide.test", "given.test", "*.shop.test"]) },
  { names: [], ...pairOf("10.0.0.7", ["b.wide.test", "a.shop.test"]) },
  { names: [], ...pairOf("not a host", ["shop.test"]) },
];

const cases = [
  { name: "a client without SNI gets the default certificate", host: undefined, shown: "own" },
  { name: "an unknown name gets the default certificate", host: "elsewhere.test", shown: "own" },
  {
    name: "a configured name takes precedence over the names in a certificate",
    host: "given.test",
    shown: "given",
  },
  { name: "names are compared without case", host: "Given.TEST", shown: "given" },
  { name: "a configured wildcard matches one label", host: "x.wide.test", shown: "given" },
  { name: "a wildcard does not match two labels", host: "x.y.wide.test", shown: "own" },
  { name: "a whole name counts more than a wildcard", host: "a.wide.test", shown: "shop.test" },
  { name: "a common name, and the first of equals", host: "shop.test", shown: "shop.test" },
  { name: "a wildcard in a certificate", host: "z.shop.test", shown: "shop.test" },
  { name: "a whole name in a later one", host: "a.shop.test", shown: "10.0.0.7" },
  {
    name: "names beside those that were given, if nothing else is valid",
    host: "hidden.test",
    shown: "given",
  },
  {
    name: "the default certificate takes precedence over others for its names",
    host: "both.test",
    shown: "own",
  },
];

describe.each([
  ["in this thread", startHttpServer],
  ["in the HTTP thread", (options: HttpServerOptions) => startHttpThread().listen(options)],
])("certificates by name, %s", (_, start) => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await start({
      tls: { context: own, authorities: {}, named: NAMED },
      host: "127.0.0.1",
      port: 0,
      clock: systemClock,
      logger: silentLogger,
      handle: async (_request, reply) => reply.send(200, {}, Buffer.from("ok")),
      upgrade: async () => undefined,
    });
  });
  afterAll(() => server.close(0));

  const shownTo = (host: string | undefined): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(
        {
          ...{ port: server.port, host: "127.0.0.1", rejectUnauthorized: false },
          ...(host === undefined ? {} : { servername: host }),
        },
        () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        },
      );
      socket.once("error", reject);
    });

  test.each(cases)("$name", async ({ host, shown }) => {
    assert.equal(await shownTo(host), shown);
  });

  test("new ones are shown once they are there", async () => {
    const next = { names: ["elsewhere.test"], ...pairOf("next", []) };
    server.renew({ context: own, authorities: {}, named: [next] });
    assert.equal(await shownTo("elsewhere.test"), "next");
    assert.equal(await shownTo("given.test"), "own");
  });
});
