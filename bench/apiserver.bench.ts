/**
 * The API server (the built program, in a process of its own) under load over TLS, beside what it
 * could be at best: Node's bare server or sockets sending the same bytes, and the embedded store's own
 * durable writes. All are measured in turns within one run; other rows say how that compares with
 * the factor over upstream that we want. Upstream's figures are those of a machine of two cores,
 * unless K8TS_BENCH_UPSTREAM names the kubeconfig (with its certificates inside, on this machine) of
 * an upstream API server: then it takes its turns, too.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseFlags } from "#cmd/apiserver/flags/flags.ts";
import { runApiServer } from "#cmd/apiserver/run.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Store } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { type FanOut, openFanOut } from "./load/fan-out.ts";
import { openHttp1 } from "./load/http1-asker.ts";
import { openHttp2 } from "./load/http2-asker.ts";
import { GOALS, inTurns, median, resultRows, wanted } from "./load/in-turns.ts";
import { type Measured, measureLoad, type Requester } from "./load/load.ts";
import {
  applyOf,
  get,
  LISTED,
  labelPatch,
  listedName,
  makePods,
  ONE_POD,
  PODS,
  podNamed,
  post,
} from "./load/pods.ts";
import {
  launcherMs,
  residentMb,
  type ServerProcess,
  startBareServer,
  startProgram,
} from "./load/server-processes.ts";
import { identityOf, portOf } from "./load/tls-identity.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "apiserver";

const WATCHERS = 200;
/** What the bare server sends to each watcher in one write. */
const EVENTS_AT_A_TIME = 32;
/** What a server has to hold when its memory is looked at: so much whatever its speed. */
const HELD_PODS = 20_000;
/** Longer than the server waits before it collects (src/lib/idle-gc.ts). */
const QUIET_MS = 25_000;

interface Servers extends BenchOptions {
  readonly ours: ServerProcess;
  readonly bare: ServerProcess;
  readonly store: Store;
  readonly upstream: Server | undefined;
}

type Server = Pick<ServerProcess, "port" | "identity">;

export async function* run(options: BenchOptions): AsyncIterable<Row> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-apiserver-"));
  const folder = (part: string): string => join(directory, part);
  try {
    yield* starts(options, folder);
    options.progress("starting the servers");
    mkdirSync(folder("bytes"));
    await using ours = await startProgram(["apiserver"], folder("ours"));
    const pki = folder("ours/pki");
    await using bare = await startBareServer(folder("bytes"), pki, ours.identity);
    await using store = await openEmbeddedStore({ directory: folder("bare"), clock: systemClock });
    const upstream = upstreamServer(process.env.K8TS_BENCH_UPSTREAM);
    const servers = { ...options, ours, bare, store, upstream };
    await fill(servers, folder("bytes"));
    yield* reads(servers);
    yield* writes(servers);
    yield* fanOut(servers);
    yield* memory(options, folder("memory"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function* starts(
  { quick, progress, signal }: BenchOptions,
  folder: (part: string) => string,
): AsyncIterable<Row> {
  await launcherMs(); // builds if need be
  const [fresh, again, bare]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < (quick ? 3 : 7); round++) {
    signal.throwIfAborted();
    progress(`start, round ${round + 1}`);
    bare.push(await launcherMs());
    for (const times of [fresh, again]) {
      await using server = await startProgram(["apiserver"], folder(`start-${round}`));
      times.push(server.readyMs);
    }
  }
  const limit = { limit: median(bare), limitName: "k8ts --version" };
  yield { name: "process start to /readyz", value: median(fresh), unit: "ms", ...limit };
  yield wanted("… beside the wish", median(fresh), "ms", 700);
  yield { name: "… on existing data", value: median(again), unit: "ms", ...limit };
  progress("start in this process");
  const inProcess: number[] = [];
  for (let round = 0; round < 5; round++) inProcess.push(await startHere(folder(`here-${round}`)));
  yield wanted("in-process start, the first", inProcess[0]!, "ms", 250);
  yield wanted("… the median of five", median(inProcess), "ms", 250);
}

async function startHere(dataDir: string): Promise<number> {
  const args = ["--data-dir", dataDir, "--secure-port", "0", "--bind-address", "127.0.0.1"];
  const surroundings = {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    hostname: "bench",
  };
  const startMs = performance.now();
  const life = new AbortController();
  await using server = await runApiServer(parseFlags(args), surroundings, life.signal);
  await server.bootstrapped;
  return performance.now() - startMs;
}

/** Makes the pods that are read, and gives the bare server the very bytes that ours sends. */
async function fill({ ours, upstream, progress }: Servers, bytes: string): Promise<void> {
  progress(`creating ${LISTED} pods`);
  for (const server of upstream === undefined ? [ours] : [ours, upstream]) {
    const askers = await open(server, 16);
    await makePods(askers, LISTED, listedName);
    closeAll(askers);
  }
  using asker = await openHttp1(ours.port, ours.identity);
  const one = await asker.ask({ ...get(ONE_POD), keep: true });
  writeFileSync(join(bytes, "pod"), one);
  const all = await asker.ask({ ...get(PODS), keep: true });
  writeFileSync(join(bytes, "list"), all);
  const event = `{"type":"MODIFIED","object":${one.toString().trim()}}\n`;
  writeFileSync(join(bytes, "events"), event.repeat(EVENTS_AT_A_TIME));
}

async function* reads(servers: Servers): AsyncIterable<Row> {
  const { ours, bare, upstream } = servers;
  for (const [protocol, opener] of [
    ["HTTP/1.1", openHttp1],
    ["HTTP/2", openHttp2],
  ] as const) {
    const rows = [
      { row: `GET a pod, 32 connections, ${protocol}`, width: 32, path: ONE_POD, file: "/pod" },
      { row: `LIST ${LISTED} pods, ${protocol}`, width: 4, path: PODS, file: "/list" },
    ];
    for (const { row, width, path, file } of rows) {
      const [own, limit] = [await open(ours, width, opener), await open(bare, width, opener)];
      const beside = opener === openHttp1 ? await maybeOpen(upstream, width) : undefined;
      const result = await inTurns(servers, {
        name: row,
        pid: ours.pid,
        own: (ms) => measureLoad(own, ms, () => get(path)),
        limit: (ms) => measureLoad(limit, ms, () => get(file)),
        upstream: beside && ((ms) => measureLoad(beside, ms, () => get(path))),
      });
      closeAll([...own, ...limit, ...(beside ?? [])]);
      yield* resultRows(row, result, "bare server", file === "/pod" ? GOALS.get : GOALS.list);
      if (file === "/pod") yield { name: "… p99", value: result.p99Ms, unit: "ms" };
    }
  }
}

async function* writes(servers: Servers): AsyncIterable<Row> {
  const { ours, upstream, store } = servers;
  let series = 0;
  const creates = (askers: readonly Requester[]) => (ms: number) => {
    const prefix = `made-${Date.now()}-${series++}`;
    return measureLoad(askers, ms, (c, n) => post(PODS, podNamed(`${prefix}-${c}-${n}`)));
  };
  const patches = (askers: readonly Requester[]) => (ms: number) =>
    measureLoad(askers, ms, (c) => labelPatch(c, String(series++)));
  const applies = (askers: readonly Requester[]) => (ms: number) =>
    measureLoad(askers, ms, (c) => applyOf(c, String(series++)));
  const rows = [
    { row: "durable create, 1 connection", width: 1, load: creates, goal: GOALS["create 1"] },
    { row: "durable create, 64 connections", width: 64, load: creates, goal: GOALS["create 64"] },
    { row: "merge-patch, 32 connections", width: 32, load: patches, goal: GOALS.patch },
    { row: "server-side apply, 32 connections", width: 32, load: applies, goal: GOALS.apply },
  ];
  for (const { row, width, load, goal } of rows) {
    const own = await open(ours, width);
    const beside = await maybeOpen(upstream, width);
    const result = await inTurns(servers, {
      name: row,
      pid: ours.pid,
      own: load(own),
      limit: (ms) => barePuts(store, width, ms),
      upstream: beside && load(beside),
    });
    closeAll([...own, ...(beside ?? [])]);
    yield* resultRows(row, result, "bare store", goal);
  }
}

/** Events that reach the watchers a second while a few clients write. */
async function* fanOut(servers: Servers): AsyncIterable<Row> {
  const row = `watch fan-out to ${WATCHERS} watchers`;
  const { ours, bare, upstream } = servers;
  let n = 0;
  const patched = (side: FanOut) => (ms: number) =>
    side.measure(ms, (c) => labelPatch(c, `${n++}`));
  const own = await openFanOut(ours, WATCHERS, watchFromNow);
  const limit = await openFanOut(bare, WATCHERS, async () => "/watch");
  const beside = upstream && (await openFanOut(upstream, WATCHERS, watchFromNow));
  const result = await inTurns(servers, {
    name: row,
    pid: ours.pid,
    own: patched(own),
    limit: (ms) => limit.measure(ms, () => post("/events", "{}"), EVENTS_AT_A_TIME),
    upstream: beside && patched(beside),
  });
  for (const side of [own, limit, beside]) side?.[Symbol.dispose]();
  yield* resultRows(row, result, "bare sockets", GOALS.fanOut, "events/s");
}

async function watchFromNow(writer: Requester): Promise<string> {
  const body = await writer.ask({ ...get(`${PODS}?limit=1`), keep: true });
  const revision = /"resourceVersion":"(\d+)"/.exec(body.toString())![1];
  return `${PODS}?watch=1&resourceVersion=${revision}&allowWatchBookmarks=false`;
}

/** Of a server that holds many pods, some of them changed, and is then left alone for a while. */
async function* memory(options: BenchOptions, dataDir: string): AsyncIterable<Row> {
  const pods = options.quick ? HELD_PODS / 4 : HELD_PODS;
  options.progress(`memory with ${pods} pods`);
  await using server = await startProgram(["apiserver"], dataDir);
  const askers = await open(server, 64);
  await makePods(askers, pods, listedName);
  let n = 0;
  const changer = async (asker: Requester): Promise<void> => {
    while (n < pods / 2) await asker.ask(labelPatch(n++, "changed"));
  };
  await Promise.all(askers.map(changer));
  closeAll(askers);
  yield wanted(
    `memory after ${pods} creates and half as many patches`,
    residentMb(server.pid),
    "MB",
    400,
  );
  await systemClock.sleep(options.quick ? QUIET_MS / 5 : QUIET_MS);
  yield wanted("… and some quiet seconds", residentMb(server.pid), "MB", 400);
}

async function barePuts(store: Store, width: number, windowMs: number): Promise<Measured> {
  const value = Buffer.from(podNamed("bare"));
  const series = performance.now();
  const writers = Array.from({ length: width }, (_, writer) => {
    let n = 0;
    return {
      ask: async () => {
        await store.put(`/registry/pods/default/${series}-${writer}-${n++}`, value);
        return value;
      },
      [Symbol.dispose]: () => undefined,
    };
  });
  return await measureLoad(writers, windowMs, () => get(""));
}

function upstreamServer(kubeconfig: string | undefined): Server | undefined {
  if (kubeconfig === undefined) return undefined;
  return { port: portOf(kubeconfig), identity: identityOf(kubeconfig) };
}

async function maybeOpen(
  server: Server | undefined,
  count: number,
): Promise<Requester[] | undefined> {
  return server && (await open(server, count));
}

function open(
  { port, identity }: Server,
  count: number,
  opener: typeof openHttp1 = openHttp1,
): Promise<Requester[]> {
  return Promise.all(Array.from({ length: count }, () => opener(port, identity)));
}

function closeAll(askers: readonly Requester[]): void {
  for (const asker of askers) asker[Symbol.dispose]();
}
