/**
 * API servers that are restarted or replaced one by one behind a load balancer that watches /readyz: no request of
 * a client fails, over HTTP/1.1 and HTTP/2, writes included, nothing is sent twice, and a watch misses nothing.
 *
 * K8TS_OTHER_PROGRAM, the k8ts.js of another version, and K8TS_KUBE_APISERVER, a kube-apiserver, add upgrades
 * from and to these on the same etcd.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { Agent, request } from "node:https";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, test } from "vitest";
import { systemRandom } from "#lib/random.ts";
import { missingProgram } from "../../tools/debian-packages.ts";
import { buildProgram, PROGRAM } from "../built-program.ts";
import { until } from "../e2e/node/eventually.ts";
import { startEtcd } from "../store/etcd-cluster.ts";
import { type ServerProgram, startApiServers } from "./api-servers.ts";
import { LoadClient } from "./campaign/load-client.ts";
import { type LoadWatch, runWatch } from "./campaign/load-watch.ts";
import { startTcpBalancer } from "./tcp-balancer.ts";

const missing = missingProgram("etcd");
const PATH = "/api/v1/namespaces/default/configmaps";
const LONG = { timeoutMs: 90_000, everyMs: 20 };

interface Tally {
  done: number;
  /** Names of objects whose creation was acknowledged. */
  readonly made: string[];
  /** Requests that a server refused while it ended (see `work`), by the program that ended. */
  readonly sentAgain: string[];
  readonly failures: string[];
}

const OURS: ServerProgram = { kind: "k8ts", file: PROGRAM };

describe.skipIf(missing !== undefined)(`rolling restart${missing ? ` (${missing})` : ""}`, () => {
  beforeAll(() => buildProgram());

  test("shutdown-delay-duration: no request fails behind a balancer while API servers are restarted one by one", async () => {
    await rolling([OURS, OURS]);
  }, 240_000);

  const [k8ts, upstream] = [process.env.K8TS_OTHER_PROGRAM, process.env.K8TS_KUBE_APISERVER];
  const others: ServerProgram[] = [
    ...(k8ts === undefined ? [] : [{ kind: "k8ts", file: k8ts } as const]),
    ...(upstream === undefined ? [] : [{ kind: "kube-apiserver", file: upstream } as const]),
  ];
  for (const from of others) {
    test(`rolling upgrade from ${from.kind} ${from.file} to this program, and back`, async () => {
      process.stdout.write(`${from.kind}: ${await rolling([from, OURS, from])}\n`);
    }, 600_000);
  }
});

/** Two API servers of the first kind; then each is replaced by one of the next kind, and so on. */
async function rolling([first, ...next]: readonly ServerProgram[]): Promise<string> {
  await using etcd = await startEtcd();
  const flags = ["--shutdown-delay-duration=1s"];
  await using servers = await startApiServers(2, etcd.endpoints, flags, first);
  const { places, token } = servers;
  await using balancer = await startTcpBalancer(places, token);
  await until(() => balancer.ready().length === 2, LONG);
  const ca = readFileSync(join(places[0]!.directory, "pki", "ca.crt"), "utf8");
  const life = new AbortController();
  const tallies: Tally[] = [];
  const run = (work: (tally: Tally, signal: AbortSignal) => Promise<void>): Promise<void> => {
    const tally: Tally = { done: 0, made: [], sentAgain: [], failures: [] };
    tallies.push(tally);
    return work(tally, life.signal);
  };
  const target: Target = { port: balancer.port, ca, token, ending: "" };
  const running = [
    ...[0, 1].map((at) => run((tally, signal) => runHttp1(`h1-${at}`, target, tally, signal))),
    ...[0, 1].map((at) => run((tally, signal) => runHttp2(`h2-${at}`, target, tally, signal))),
  ];
  const watched = watchItems(target);
  const progress = async (): Promise<void> => {
    const wanted = tallies.map(({ done }) => done + 10);
    await until(() => tallies.every(({ done }, at) => done >= wanted[at]!), LONG);
  };
  await progress();
  let before = first;
  for (const program of next) {
    for (const server of [0, 1]) {
      target.ending = before?.file ?? "";
      await servers.end(server);
      await progress();
      await servers.start(server, program);
      await until(() => balancer.ready().length === 2, LONG);
      await progress();
    }
    before = program;
  }
  life.abort();
  await Promise.all(running);
  await watched.end(tallies.flatMap(({ made }) => made));
  const failures = tallies.flatMap((tally) => tally.failures);
  assert.deepEqual(failures, []);
  const sentAgain = tallies.flatMap((tally) => tally.sentAgain);
  assert.ok(!sentAgain.includes(PROGRAM), "no client has to send a request again for this program");
  const done = tallies.reduce((sum, tally) => sum + tally.done, 0);
  return `${done} requests, ${sentAgain.length} sent again because a server ended`;
}

interface Target {
  readonly port: number;
  readonly ca: string;
  readonly token: string;
  /** The program that ends now. */
  ending: string;
}

/** Follows all objects through the balancer, as an informer does. */
function watchItems({ port, ca, token }: Target): { end(made: readonly string[]): Promise<void> } {
  const seen = new Map<string, number>();
  const life = new AbortController();
  const targets = [{ name: "balancer", host: "127.0.0.1", port }];
  const client = new LoadClient({ targets, ca, token, random: systemRandom });
  const onObject: LoadWatch["onObject"] = (type, { metadata: { name } }) => {
    if (type === "ADDED") seen.set(name, (seen.get(name) ?? 0) + 1);
  };
  const record = (): void => undefined;
  const watch = { name: "watch", targets, ca, token, path: PATH, client, record, onObject };
  const running = runWatch(watch, life.signal);
  return {
    end: async (made) => {
      await until(() => made.every((name) => seen.has(name)), LONG);
      life.abort();
      await running;
      client[Symbol.dispose]();
      const repeated = made.filter((name) => seen.get(name) !== 1);
      assert.deepEqual(repeated, [], "every object is ADDED once");
    },
  };
}

/** Creates and reads over connections that stay open, as most clients do. */
async function runHttp1(
  name: string,
  target: Target,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const { port, ca, token } = target;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask: Ask = (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const outgoing = request({ host: "127.0.0.1", port, ca, agent, method, path, headers });
      outgoing.on("error", reject);
      outgoing.on("response", (response) => {
        response.on("data", () => undefined);
        const { statusCode: code = 0, headers: received } = response;
        const again = received["retry-after"] !== undefined;
        response.on("end", () => resolve({ code, again }));
        response.on("error", reject);
      });
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  await work(name, target, ask, tally, signal);
  agent.destroy();
}

/** One connection for all requests, until the server says GOAWAY. */
async function runHttp2(
  name: string,
  target: Target,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const { port, ca, token } = target;
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
  const ask: Ask = (method, path, body) =>
    new Promise((resolve, reject) => {
      session ??= open();
      const stream = session.request({
        ...{ ":method": method, ":path": path, authorization: `Bearer ${token}` },
        "content-type": "application/json",
      });
      let [code, again] = [0, false];
      stream.on("response", (headers) => {
        code = Number(headers[":status"]);
        again = headers["retry-after"] !== undefined;
      });
      stream.on("data", () => undefined);
      stream.on("end", () => resolve({ code, again }));
      stream.on("error", reject);
      stream.end(body === undefined ? undefined : JSON.stringify(body));
    });
  /** A stream that is refused was certainly not acted on (RFC 9113, 8.7): clients send it again. */
  const askAgain: Ask = async (...given) => {
    for (;;) {
      try {
        return await ask(...given);
      } catch (error) {
        if (!/NGHTTP2_REFUSED_STREAM/.test(String(error))) throw error;
        session = undefined;
      }
    }
  };
  await work(name, target, askAgain, tally, signal);
  session?.close();
}

interface Body {
  readonly metadata: { readonly name: string };
}

/** `again`: the answer has Retry-After. */
type Ask = (
  method: string,
  path: string,
  body?: Body,
) => Promise<{ readonly code: number; readonly again: boolean }>;

/**
 * Creates and reads. Other programs than ours may end with a request under way: kube-apiserver answers 503 with
 * Retry-After, which client-go sends again, or closes an idle connection of HTTP/1.1 that a request is just
 * sent on; then a read is sent again, and a create if a read shows that it was not carried out.
 */
async function work(
  name: string,
  target: Target,
  ask: Ask,
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const persistently: Ask = async (method, path, body) => {
    for (;;) {
      const answer = await ask(method, path, body).catch((error: unknown) => {
        if (/socket hang up|ECONNRESET/.test(String(error))) return undefined;
        throw error;
      });
      if (answer !== undefined && !(answer.code === 503 && answer.again)) return answer;
      tally.sentAgain.push(target.ending);
      await sleep(5);
      if (answer !== undefined || method === "GET") continue;
      const made = await persistently("GET", `${path}/${nameOf(body)}`);
      if (made.code === 200) return { code: 201, again: false };
    }
  };
  for (let turn = 0; !signal.aborted; turn++) {
    const object = `${name}-${turn}`;
    for (const [method, path, wanted] of [
      ["POST", PATH, 201],
      ["GET", `${PATH}/${object}`, 200],
    ] as const) {
      try {
        const body = method === "POST" ? { metadata: { name: object } } : undefined;
        const { code } = await persistently(method, path, body);
        if (code === wanted) tally.done += 1;
        if (code === 201) tally.made.push(object);
        if (code !== wanted) tally.failures.push(`${method} ${object}: ${code}`);
      } catch (error) {
        tally.failures.push(`${method} ${object}: ${error}`);
      }
    }
    await sleep(5);
  }
}

function nameOf(body: Body | undefined): string {
  return body?.metadata.name ?? "";
}
