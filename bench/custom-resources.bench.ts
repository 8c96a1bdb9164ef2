/**
 * Custom resources on the built API server: creates of an object with a schema of 100 fields and five
 * CEL rules beside creates of a ConfigMap of the same size, in turns; and what 500 definitions of the
 * size of real ones cost: start, memory, the time until a definition can be used and until it is in the
 * OpenAPI documents, the longest answer that another client waited for meanwhile, and the longest turn of
 * the server's event loop while definitions are added and discovery and OpenAPI are read.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  configMapOfTheSameSize,
  customObject,
  definition,
  GROUP,
  pathOf,
} from "./custom-resources/definitions.ts";
import { openHttp1 } from "./load/http1-asker.ts";
import { inTurns, median, wanted } from "./load/in-turns.ts";
import { measureLoad, type Requester } from "./load/load.ts";
import { get, post } from "./load/pods.ts";
import { type Probed, probeFor } from "./load/probe.ts";
import { residentMb, type ServerProcess, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "custom-resources";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DOCUMENT_V2 = "/openapi/v2";
const DOCUMENT_V3 = `/openapi/v3/apis/${GROUP}/v1`;
const CONNECTIONS = 16;
const QUIET_MS = 25_000;
/** After this the server has done what a start leaves for later. */
const STARTED_MS = 10_000;
const TURN_ROUNDS = 3;
const START_ROUNDS = 5;
const USABLE_WITHIN_MS = 30_000;

export async function* run(options: BenchOptions): AsyncIterable<Row> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-crd-"));
  try {
    {
      await using server = await startProgram(["apiserver"], join(directory, "objects"));
      yield* creates(options, server);
    }
    yield* turns(options, directory);
    // A store of its own: a start with all objects of the creates above would measure those.
    const data = join(directory, "definitions");
    await using server = await startProgram(["apiserver"], data);
    yield* manyDefinitions(options, server);
    await server.endMs();
    yield await starts(directory, data);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** In turns, so that both meet the same machine. */
async function starts(directory: string, data: string): Promise<Row> {
  const fresh: number[] = [];
  const again: number[] = [];
  for (let round = 0; round < START_ROUNDS; round++) {
    fresh.push(await readyMs(join(directory, `fresh-${round}`)));
    again.push(await readyMs(data));
  }
  return {
    name: "start with the definitions",
    value: median(again),
    unit: "ms",
    limit: median(fresh),
    limitName: "a fresh server",
    target: 1.5,
  };
}

async function readyMs(data: string): Promise<number> {
  await using server = await startProgram(["apiserver"], data);
  return server.readyMs;
}

async function* creates(options: BenchOptions, server: ServerProcess): AsyncIterable<Row> {
  await use(server, 0);
  const connect = (): Promise<Requester[]> =>
    Promise.all(Array.from({ length: CONNECTIONS }, () => openHttp1(server.port, server.identity)));
  const askers = await connect();
  let series = 0;
  const load = (path: string, body: (name: string) => string) => (ms: number) => {
    const prefix = `made-${series++}`;
    return measureLoad(askers, ms, (c, n) => post(path, body(`${prefix}-${c}-${n}`)));
  };
  const custom = load(pathOf(0), (object) => customObject(0, object));
  const builtIn = load(CONFIG_MAPS, configMapOfTheSameSize);
  await builtIn(3_000);
  const row = `create of a custom resource, ${CONNECTIONS} connections`;
  const result = await inTurns(options, {
    name: row,
    pid: server.pid,
    own: custom,
    limit: builtIn,
  });
  for (const asker of askers) asker[Symbol.dispose]();
  const { perSecond, ratio, cpuMicros } = result;
  const limit = { limit: perSecond / ratio, limitName: "a ConfigMap of the same size" };
  yield { name: row, value: perSecond, unit: "/s", ...limit, ratio, target: 0.6 };
  yield { name: "… processor time of the server", value: cpuMicros, unit: "µs each" };
}

/**
 * The median of several servers: when a virtual machine is halted for a while, the thread that runs is
 * charged for it, and the turn looks as long as that. What the program does is the same in each round.
 */
async function* turns({ quick, progress }: BenchOptions, directory: string): AsyncIterable<Row> {
  const longest: number[] = [];
  for (let round = 0; round < TURN_ROUNDS; round++) {
    const ms = await longestTurnMs(join(directory, `turns-${round}`), quick ? 20 : 100);
    progress(`longest turn, round ${round + 1}: ${ms.toFixed(1)} ms`);
    longest.push(ms);
  }
  const row = "longest turn of the event loop while definitions are added and read (CPU)";
  yield wanted(row, median(longest), "ms", 20);
}

/** A server of its own: the watch of its loop never rests. */
async function longestTurnMs(data: string, count: number): Promise<number> {
  const report = `${data}.longest`;
  const watch = fileURLToPath(new URL("load/watch-loop.ts", import.meta.url));
  const env = { NODE_OPTIONS: `--import ${watch}`, LOOP_REPORT: report };
  await using server = await startProgram(["apiserver"], data, env);
  await sleep(STARTED_MS);
  process.kill(server.pid, "SIGUSR2");
  using reader = await openHttp1(server.port, server.identity);
  for (let index = 1; index <= count; index++) {
    await Promise.all([use(server, index), readDocuments(reader)]);
  }
  await readDocuments(reader);
  await server.endMs();
  return Number(readFileSync(report, "utf8"));
}

async function readDocuments(reader: Requester): Promise<void> {
  for (const path of [DOCUMENT_V2, "/openapi/v3", DOCUMENT_V3, "/apis", `/apis/${GROUP}/v1`]) {
    // Before the first definition is served, its group is not there.
    await reader.ask(get(path)).catch(() => undefined);
  }
}

async function* manyDefinitions(
  { quick, progress }: BenchOptions,
  server: ServerProcess,
): AsyncIterable<Row> {
  const count = quick ? 50 : 500;
  await sleep(QUIET_MS);
  const beforeMb = residentMb(server.pid);
  using probe = await openHttp1(server.port, server.identity);
  let isDone = false;
  const slowest = (async () => {
    const windows: Probed[] = [];
    while (!isDone) windows.push(await probeFor(probe, 200));
    return windows;
  })();
  const usable: number[] = [];
  for (let index = 1; index <= count; index++) {
    if (index % 50 === 0) progress(`definition ${index}`);
    usable.push(await use(server, index));
  }
  isDone = true;
  const windows = await slowest;
  const longestMs = Math.max(...windows.map((window) => window.longestMs));
  const sum = (pick: (window: Probed) => number): number =>
    windows.map(pick).reduce((a, b) => a + b);
  progress(
    `${sum(({ disturbed }) => disturbed)} of ${sum(({ count }) => count)} answers while time was stolen`,
  );
  await sleep(QUIET_MS);
  const memory = (residentMb(server.pid) - beforeMb) / count;
  const last = usable.slice(-20);
  const publishedMs = await publish(server, probe, count + 1);
  yield wanted(`definition ${count}: creation until it can be used`, median(last), "ms", 150);
  yield wanted("… longest answer another client waited for", longestMs, "ms", 20);
  yield wanted("… memory of each", memory, "MB", 0.6);
  yield wanted("one more: creation until both OpenAPI documents have it", publishedMs, "ms", 1_000);
}

/** Documents are there that do not have it yet, as clients that asked before have caused. */
async function publish(server: ServerProcess, asker: Requester, index: number): Promise<number> {
  const text = async (path: string): Promise<string> =>
    (await asker.ask({ ...get(path), keep: true })).toString("latin1");
  for (const path of [DOCUMENT_V2, DOCUMENT_V3]) await text(path);
  const startMs = performance.now();
  await use(server, index);
  for (const path of [DOCUMENT_V2, DOCUMENT_V3]) {
    while (!(await text(path)).includes(`"Bench${index}"`)) {
      if (performance.now() - startMs > USABLE_WITHIN_MS) throw new Error(`${path} lacks it`);
    }
  }
  return performance.now() - startMs;
}

/** Makes a definition and an object of it as soon as possible; answers how long that took. */
async function use(server: ServerProcess, index: number): Promise<number> {
  using asker = await openHttp1(server.port, server.identity);
  await asker.ask(get("/api/v1/namespaces/default"));
  const startMs = performance.now();
  await asker.ask(post(DEFINITIONS, definition(index)));
  for (;;) {
    try {
      await asker.ask(post(pathOf(index), customObject(index, "first")));
      return performance.now() - startMs;
    } catch (error) {
      if (performance.now() - startMs > USABLE_WITHIN_MS) throw error;
      await sleep(2);
    }
  }
}
