/**
 * API servers that are restarted one by one behind a load balancer that watches /readyz: no request of a
 * client fails, over HTTP/1.1 and HTTP/2, writes included, and nothing is sent twice.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, test } from "vitest";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram } from "../built-program.ts";
import { until } from "../e2e/node/eventually.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { startApiServers } from "./api-servers.ts";
import { startTcpBalancer } from "./tcp-balancer.ts";

const missing = missingProgram("etcd");
const PATH = "/api/v1/namespaces/default/configmaps";
const LONG = { timeoutMs: 90_000, everyMs: 20 };

interface Tally {
  done: number;
  readonly failures: string[];
}

describe.skipIf(missing !== undefined)(`rolling restart${missing ? ` (${missing})` : ""}`, () => {
  beforeAll(() => buildProgram());

  test("shutdown-delay-duration: no request fails behind a balancer while API servers are restarted one by one", async () => {
    await using etcd = await startEtcd();
    await using servers = await startApiServers(2, etcd.endpoints, [
      "--shutdown-delay-duration=1s",
    ]);
    const { places, token } = servers;
    await using balancer = await startTcpBalancer(places, token);
    await until(() => balancer.ready().length === 2, LONG);
    const ca = readFileSync(join(places[0]!.directory, "pki", "ca.crt"), "utf8");
    const life = new AbortController();
    const tallies: Tally[] = [];
    const run = (work: (tally: Tally, signal: AbortSignal) => Promise<void>): Promise<void> => {
      const tally: Tally = { done: 0, failures: [] };
      tallies.push(tally);
      return work(tally, life.signal);
    };
    const target = { port: balancer.port, ca, token };
    const running = [
      ...[0, 1].map((at) => run((tally, signal) => runHttp1(`h1-${at}`, target, tally, signal))),
      ...[0, 1].map((at) => run((tally, signal) => runHttp2(`h2-${at}`, target, tally, signal))),
    ];
    const progress = async (): Promise<void> => {
      const wanted = tallies.map(({ done }) => done + 10);
      await until(() => tallies.every(({ done }, at) => done >= wanted[at]!), LONG);
    };
    await progress();
    for (const server of [0, 1]) {
      await servers.end(server);
      await progress();
      await servers.start(server);
      await until(() => balancer.ready().length === 2, LONG);
      await progress();
    }
    life.abort();
    await Promise.all(running);
    assert.deepEqual(
      tallies.flatMap(({ failures }) => failures),
      [],
    );
  }, 240_000);
});

interface Target {
  readonly port: number;
  readonly ca: string;
  readonly token: string;
}

/** Creates and reads over connections that stay open, as most clients do. */
async function runHttp1(
  name: string,
  { port, ca, token }: Target,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (method: string, path: string, body?: object): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const outgoing = request({ host: "127.0.0.1", port, ca, agent, method, path, headers });
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        response.on("data", () => undefined);
        response.on("end", () => resolve(response.statusCode ?? 0));
        response.on("error", reject);
      });
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  await work(name, ask, tally, signal);
  agent.destroy();
}

/** One connection for all requests, until the server says GOAWAY. */
async function runHttp2(
  name: string,
  { port, ca, token }: Target,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  let session: ClientHttp2Session | undefined;
  const open = (): ClientHttp2Session => {
    const opened = connectHttp2(`https://127.0.0.1:${port}`, { ca });
    opened.on("goaway", () => {
      if (session === opened) session = undefined;
    });
    opened.on("close", () => {
      if (session === opened) session = undefined;
    });
    opened.on("error", () => undefined);
    return opened;
  };
  const ask = (method: string, path: string, body?: object): Promise<number> =>
    new Promise((resolve, reject) => {
      session ??= open();
      const stream = session.request({
        ...{ ":method": method, ":path": path, authorization: `Bearer ${token}` },
        "content-type": "application/json",
      });
      let code = 0;
      stream.on("response", (headers) => {
        code = Number(headers[":status"]);
      });
      stream.on("data", () => undefined);
      stream.on("end", () => resolve(code));
      stream.on("error", reject);
      stream.end(body === undefined ? undefined : JSON.stringify(body));
    });
  /** A stream that is refused was certainly not acted on (RFC 9113, 8.7): clients send it again. */
  const askAgain: typeof ask = async (...given) => {
    for (;;) {
      try {
        return await ask(...given);
      } catch (error) {
        if (!/NGHTTP2_REFUSED_STREAM/.test(String(error))) throw error;
        session = undefined;
      }
    }
  };
  await work(name, askAgain, tally, signal);
  session?.close();
}

async function work(
  name: string,
  ask: (method: string, path: string, body?: object) => Promise<number>,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    const object = `${name}-${turn}`;
    for (const [method, path, wanted] of [
      ["POST", PATH, 201],
      ["GET", `${PATH}/${object}`, 200],
    ] as const) {
      try {
        const body = method === "POST" ? { metadata: { name: object } } : undefined;
        const code = await ask(method, path, body);
        if (code === wanted) tally.done += 1;
        else tally.failures.push(`${method} ${object}: ${code}`);
      } catch (error) {
        tally.failures.push(`${method} ${object}: ${error}`);
      }
    }
    await sleep(5);
  }
}
