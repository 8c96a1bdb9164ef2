/**
 * The API server (the built program, in a process of its own) under load over TLS, beside what it
 * could be at best: Node's bare server sending the same bytes, and the embedded store's own durable
 * writes. Both are measured in turns within one run; every second row says how that compares with
 * the factor over upstream that we want.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseFlags } from "#cmd/apiserver/flags.ts";
import { runApiServer } from "#cmd/apiserver/run.ts";
import { silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/system-clock.ts";
import type { Store } from "#store/contract.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { openHttp1, openWatch } from "./load/http1-asker.ts";
import { openHttp2 } from "./load/http2-asker.ts";
import { type Ask, type Asker, type Measured, measureLoad } from "./load/load.ts";
import {
  cpuMs,
  launcherMs,
  residentMb,
  type ServerProcess,
  startBareServer,
  startProgram,
} from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "apiserver";

const LISTED = 1_000;
const WATCHERS = 200;
const PODS = "/api/v1/namespaces/default/pods";
const ONE_POD = `${PODS}/listed-0000`;
const JSON_TYPE = "application/json";
const MERGE_TYPE = "application/merge-patch+json";

/** What upstream does on a machine of two cores, and how much better we want to be. */
interface Goal {
  readonly upstreamPerSecond: number;
  readonly factor: number;
  /** Of the limit measured in the same run. */
  readonly ratio: number;
}

const GOALS = {
  get: { upstreamPerSecond: 1_970, factor: 3, ratio: 0.4 },
  list: { upstreamPerSecond: 31, factor: 8, ratio: 0.6 },
  "create 1": { upstreamPerSecond: 200, factor: 2, ratio: 0.2 },
  "create 64": { upstreamPerSecond: 970, factor: 4, ratio: 0.03 },
  patch: { upstreamPerSecond: 640, factor: 4, ratio: 0.03 },
  fanOut: { upstreamPerSecond: 27_000, factor: 3, ratio: 0.35 },
} as const;

interface Servers extends BenchOptions {
  readonly ours: ServerProcess;
  readonly bare: ServerProcess;
  readonly store: Store;
}

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
    const servers = { ...options, ours, bare, store };
    await fill(servers, folder("bytes"));
    yield* reads(servers);
    yield* writes(servers);
    yield* fanOut(servers);
    yield wanted("memory after this load", residentMb(ours.pid), "MB", 400);
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
async function fill({ ours, progress }: Servers, bytes: string): Promise<void> {
  progress(`creating ${LISTED} pods`);
  const askers = await open(ours, 16);
  const account = { metadata: { name: "default" } };
  await askers[0]!.ask(post("/api/v1/namespaces/default/serviceaccounts", JSON.stringify(account)));
  let made = 0;
  const maker = async (asker: Asker): Promise<void> => {
    while (made < LISTED) await asker.ask(post(PODS, podNamed(listedName(made++))));
  };
  await Promise.all(askers.map(maker));
  const one = await askers[0]!.ask({ ...get(ONE_POD), keep: true });
  writeFileSync(join(bytes, "pod"), one);
  const all = await askers[0]!.ask({ ...get(PODS), keep: true });
  writeFileSync(join(bytes, "list"), all);
  writeFileSync(join(bytes, "event"), `{"type":"MODIFIED","object":${one.toString().trim()}}\n`);
  closeAll(askers);
}

async function* reads(servers: Servers): AsyncIterable<Row> {
  for (const [protocol, opener] of [
    ["HTTP/1.1", openHttp1],
    ["HTTP/2", openHttp2],
  ] as const) {
    const rows = [
      { name: `GET a pod, 32 connections, ${protocol}`, width: 32, path: ONE_POD, file: "/pod" },
      { name: `LIST ${LISTED} pods, ${protocol}`, width: 4, path: PODS, file: "/list" },
    ];
    for (const { name: row, width, path, file } of rows) {
      const own = await open(servers.ours, width, opener);
      const bare = await open(servers.bare, width, opener);
      const result = await inTurns(
        servers,
        row,
        (ms) => measureLoad(own, ms, () => get(path)),
        (ms) => measureLoad(bare, ms, () => get(file)),
      );
      closeAll([...own, ...bare]);
      yield* told(row, result, "bare server", file === "/pod" ? GOALS.get : GOALS.list);
      if (file === "/pod") yield { name: "… p99", value: result.p99Ms, unit: "ms" };
    }
  }
}

async function* writes(servers: Servers): AsyncIterable<Row> {
  let series = 0;
  for (const width of [1, 64] as const) {
    const own = await open(servers.ours, width);
    const row = `durable create, ${width} connection${width === 1 ? "" : "s"}`;
    const result = await inTurns(
      servers,
      row,
      (ms) => {
        const prefix = `made-${series++}`;
        return measureLoad(own, ms, (c, n) => post(PODS, podNamed(`${prefix}-${c}-${n}`)));
      },
      (ms) => barePuts(servers.store, width, ms),
    );
    closeAll(own);
    yield* told(row, result, "bare store", GOALS[`create ${width}`]);
  }
  const own = await open(servers.ours, 32);
  const row = "merge-patch, 32 connections";
  const result = await inTurns(
    servers,
    row,
    (ms) => measureLoad(own, ms, (c) => labelPatch(c, String(series++))),
    (ms) => barePuts(servers.store, 32, ms),
  );
  closeAll(own);
  yield* told(row, result, "bare store", GOALS.patch);
}

/** Events that reach the watchers a second while a few clients write. */
async function* fanOut(servers: Servers): AsyncIterable<Row> {
  const row = `watch fan-out to ${WATCHERS} watchers`;
  let revision = "";
  let n = 0;
  const oursSide = await fanOutOf(servers.ours, async (writer) => {
    const body = await writer.ask({ ...get(`${PODS}?limit=1`), keep: true });
    revision = (JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }).metadata
      .resourceVersion;
    return `${PODS}?watch=1&resourceVersion=${revision}&allowWatchBookmarks=false`;
  });
  const bareSide = await fanOutOf(servers.bare, async () => "/watch");
  const result = await inTurns(
    servers,
    row,
    (ms) => oursSide.measure(ms, (c) => labelPatch(c, String(n++))),
    (ms) => bareSide.measure(ms, () => post("/event", "{}")),
  );
  oursSide.close();
  bareSide.close();
  yield* told(row, result, "bare server", GOALS.fanOut, "events/s");
}

interface FanOut {
  measure(windowMs: number, next: (connection: number) => Ask): Promise<Measured>;
  close(): void;
}

async function fanOutOf(
  server: ServerProcess,
  pathOf: (writer: Asker) => Promise<string>,
): Promise<FanOut> {
  const writers = await open(server, 8);
  const path = await pathOf(writers[0]!);
  let delivered = 0;
  let wake: () => void = () => undefined;
  const watches = await Promise.all(
    Array.from({ length: WATCHERS }, () =>
      openWatch(server.port, server.identity, path, (count) => {
        delivered += count;
        wake();
      }),
    ),
  );
  return {
    measure: async (windowMs, next) => {
      const startMs = performance.now();
      const before = delivered;
      let written = 0;
      await measureLoad(writers, windowMs, (connection) => {
        written += 1;
        return next(connection);
      });
      while (delivered - before < written * WATCHERS) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const count = delivered - before;
      const perSecond = (count * 1000) / (performance.now() - startMs);
      return { count, perSecond, p99Ms: Number.NaN };
    },
    close: () => {
      closeAll(writers);
      for (const watch of watches) watch.destroy();
    },
  };
}

interface Result extends Measured {
  readonly ratio: number;
  readonly cpuMicros: number;
  /** Of the load generator, which has the same processors. */
  readonly loadMicros: number;
}

/** The machine may be busy with other things: each ratio is taken within a moment, then the median. */
async function inTurns(
  { quick, signal, progress, ours }: Servers,
  what: string,
  own: (windowMs: number) => Promise<Measured>,
  limit: (windowMs: number) => Promise<Measured>,
): Promise<Result> {
  const windowMs = quick ? 300 : 600;
  await own(windowMs * WARM_WINDOWS); // servers run for days: what counts is how they run then
  const [rates, ratios, p99s]: [number[], number[], number[]] = [[], [], []];
  let count = 0;
  let usedMs = 0;
  let loadMicros = 0;
  for (let round = 0; round < (quick ? 3 : 9); round++) {
    signal.throwIfAborted();
    progress(`${what}, round ${round + 1}`);
    const bar = await limit(windowMs);
    const beforeMs = cpuMs(ours.pid);
    const before = process.cpuUsage();
    const measured = await own(windowMs);
    const { user, system } = process.cpuUsage(before);
    loadMicros += user + system;
    usedMs += cpuMs(ours.pid) - beforeMs;
    count += measured.count;
    rates.push(measured.perSecond);
    ratios.push(measured.perSecond / bar.perSecond);
    p99s.push(measured.p99Ms);
  }
  return {
    count,
    perSecond: median(rates),
    ratio: median(ratios),
    p99Ms: median(p99s),
    cpuMicros: (usedMs * 1000) / count,
    loadMicros: loadMicros / count,
  };
}

const WARM_WINDOWS = 3;

function* told(
  row: string,
  { perSecond, ratio, cpuMicros, loadMicros }: Result,
  limitName: string,
  goal: Goal,
  unit = "/s",
): Iterable<Row> {
  const limit = perSecond / ratio;
  yield { name: row, value: perSecond, unit, limit, limitName, ratio, target: goal.ratio };
  const wish = goal.upstreamPerSecond * goal.factor;
  yield wanted(`… beside ${goal.factor} × upstream`, perSecond, unit, wish);
  yield { name: "… processor time of the server", value: cpuMicros, unit: "µs each" };
  yield { name: "… and of the load generator", value: loadMicros, unit: "µs each" };
}

function wanted(row: string, value: number, unit: string, wish: number): Row {
  return { name: row, value, unit, limit: wish, limitName: `${unit} wanted`, target: 1 };
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

function open(
  { port, identity }: ServerProcess,
  count: number,
  opener: typeof openHttp1 = openHttp1,
): Promise<Asker[]> {
  return Promise.all(Array.from({ length: count }, () => opener(port, identity)));
}

function closeAll(askers: readonly Asker[]): void {
  for (const asker of askers) asker[Symbol.dispose]();
}

function get(path: string): Ask {
  return { method: "GET", path };
}

function post(path: string, body: string): Ask {
  return { method: "POST", path, contentType: JSON_TYPE, body };
}

function labelPatch(index: number, value: string): Ask {
  const body = `{"metadata":{"labels":{"n":"${value}"}}}`;
  return { method: "PATCH", path: `${PODS}/${listedName(index)}`, contentType: MERGE_TYPE, body };
}

function listedName(index: number): string {
  return `listed-${String(index).padStart(4, "0")}`;
}

/** About 2,000 bytes when it is served. */
const [POD_BEFORE, POD_AFTER] = JSON.stringify({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name: "NAME", labels: { app: "web", tier: "frontend" } },
  spec: {
    containers: [
      {
        name: "web",
        image: "registry.example.com/shop/web:1.25.3",
        resources: { requests: { cpu: "100m", memory: "128Mi" } },
      },
    ],
  },
}).split("NAME") as [string, string];

function podNamed(podName: string): string {
  return POD_BEFORE + podName + POD_AFTER;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
