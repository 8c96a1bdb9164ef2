/**
 * The API server beside what it could be at best: a bare HTTP/2 server that sends the same bytes over
 * TLS, and the embedded store's own durable writes, measured in turns within one run.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ClientHttp2Session } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#lib/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { ask, Connections } from "./apiserver/load.ts";
import type { BenchOptions, Row } from "./row.ts";
import { samplePod } from "./samples/pod.ts";

export const name = "apiserver";

const PODS = "/api/v1/namespaces/default/pods";
const LISTED = 1_000;
const WATCHERS = 200;

export async function* run(options: BenchOptions): AsyncIterable<Row> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-apiserver-"));
  const processes: ChildProcess[] = [];
  try {
    options.progress("starting the servers");
    const ours = await start("ours", directory, processes);
    const bare = await start("bare", directory, processes);
    const bench = { ...options, directory, ours: ours.port, bare: bare.port, pid: ours.pid };
    yield idleMemory(ours.pid);
    await prepare(bench);
    yield* gets(bench);
    yield* lists(bench);
    yield* creates(bench);
    yield* patches(bench);
    yield* fanOut(bench);
    yield* startUp(bench);
  } finally {
    for (const child of processes) child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  }
}

interface Bench extends BenchOptions {
  readonly directory: string;
  readonly ours: number;
  readonly bare: number;
}

interface Started {
  readonly port: number;
  readonly pid: number;
}

function start(mode: string, directory: string, processes: ChildProcess[]): Promise<Started> {
  const script = fileURLToPath(new URL("./apiserver/server-process.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", script, mode, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  processes.push(child);
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the ${mode} server ended with ${code}`)));
    child.stdout.once("data", (line: Buffer) => {
      const { port } = JSON.parse(line.toString()) as { port: number };
      resolve({ port, pid: child.pid ?? 0 });
    });
  });
}

function podNamed(podName: string): string {
  const { labels, annotations } = samplePod.metadata;
  const { kind, apiVersion, spec } = samplePod;
  return JSON.stringify({
    kind,
    apiVersion,
    metadata: { name: podName, labels, annotations },
    spec,
  });
}

/** Fills the server, and gives the bare one the very bytes that ours will send. */
async function prepare({ ours, directory, progress }: Bench): Promise<void> {
  progress(`creating ${LISTED} pods`);
  using connections = new Connections(ours, 16);
  const [first] = connections.sessions as [ClientHttp2Session];
  let n = 0;
  await Promise.all(
    connections.sessions.map(async (session) => {
      while (n < LISTED) {
        const podName = `listed-${String(n++).padStart(4, "0")}`;
        await ask(session, {
          method: "POST",
          path: PODS,
          body: podNamed(podName),
          contentType: JSON_TYPE,
        });
      }
    }),
  );
  writeFileSync(join(directory, "pod"), await ask(first, { path: `${PODS}/listed-0000` }));
  writeFileSync(join(directory, "list"), await ask(first, { path: PODS }));
}

const JSON_TYPE = "application/json";

/** Each ratio is taken within a moment, then the median: the machine may be busy with other things. */
async function compare(
  { quick, signal, progress }: BenchOptions,
  what: string,
  own: (windowMs: number) => Promise<number>,
  limit: (windowMs: number) => Promise<number>,
): Promise<{ value: number; ratio: number; limit: number }> {
  const rounds = quick ? 3 : 9;
  const windowMs = quick ? 400 : 800;
  await own(windowMs / 2);
  await limit(windowMs / 2);
  const values: number[] = [];
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted();
    progress(`${what}, round ${round + 1} of ${rounds}`);
    const bar = await limit(windowMs);
    const value = await own(windowMs);
    values.push(value);
    ratios.push(value / bar);
  }
  const value = median(values);
  const ratio = median(ratios);
  return { value, ratio, limit: value / ratio };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

async function* gets(bench: Bench): AsyncIterable<Row> {
  using ours = new Connections(bench.ours, 32);
  using bare = new Connections(bench.bare, 32);
  const result = await compare(
    bench,
    "GET",
    (ms) => ours.rate(ms, () => ({ path: `${PODS}/listed-0000` })),
    (ms) => bare.rate(ms, () => ({ path: "/bytes/pod" })),
  );
  yield {
    name: "GET a pod, 32 connections",
    unit: "/s",
    limitName: "bare server",
    target: 0.5,
    ...result,
  };
}

async function* lists(bench: Bench): AsyncIterable<Row> {
  using ours = new Connections(bench.ours, 4);
  using bare = new Connections(bench.bare, 4);
  const result = await compare(
    bench,
    "LIST",
    (ms) => ours.rate(ms, () => ({ path: PODS })),
    (ms) => bare.rate(ms, () => ({ path: "/bytes/list" })),
  );
  yield {
    name: `LIST ${LISTED} pods, 4 connections`,
    unit: "/s",
    limitName: "bare server",
    target: 0.8,
    ...result,
  };
}

async function* creates(bench: Bench): AsyncIterable<Row> {
  await using store = await openEmbeddedStore({
    directory: join(bench.directory, "bare-store"),
    clock: systemClock,
  });
  const value = readFileSync(join(bench.directory, "pod"));
  let run = 0;
  for (const width of [1, 64]) {
    using ours = new Connections(bench.ours, width);
    const result = await compare(
      bench,
      `create, ${width} connections`,
      (ms) => {
        const prefix = `made-${run++}`;
        return ours.rate(ms, (connection, n) => ({
          method: "POST",
          path: PODS,
          body: podNamed(`${prefix}-${connection}-${n}`),
          contentType: JSON_TYPE,
        }));
      },
      (ms) => putRate(store, width, ms, value, `bare-${run++}`),
    );
    const target = width === 1 ? 0.6 : 0.15;
    yield {
      name: `durable create, ${width} connections`,
      unit: "/s",
      limitName: "bare store",
      target,
      ...result,
    };
  }
}

async function* patches(bench: Bench): AsyncIterable<Row> {
  await using store = await openEmbeddedStore({
    directory: join(bench.directory, "bare-store-2"),
    clock: systemClock,
  });
  const value = readFileSync(join(bench.directory, "pod"));
  using ours = new Connections(bench.ours, 32);
  let n = 0;
  const result = await compare(
    bench,
    "merge patch",
    (ms) =>
      ours.rate(ms, (connection) => ({
        method: "PATCH",
        path: `${PODS}/listed-${String(connection).padStart(4, "0")}`,
        body: JSON.stringify({ metadata: { labels: { n: String(n++) } } }),
        contentType: "application/merge-patch+json",
      })),
    (ms) => putRate(store, 32, ms, value, "patched"),
  );
  yield {
    name: "merge-patch, 32 connections",
    unit: "/s",
    limitName: "bare store",
    target: 0.15,
    ...result,
  };
}

async function putRate(
  store: Awaited<ReturnType<typeof openEmbeddedStore>>,
  width: number,
  windowMs: number,
  value: Buffer,
  prefix: string,
): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + windowMs;
  let count = 0;
  await Promise.all(
    Array.from({ length: width }, async (_, writer) => {
      for (let n = 0; performance.now() < endMs; n++) {
        await store.put(`/bench/${prefix}-${writer}-${n}`, value);
        count += 1;
      }
    }),
  );
  return count / ((performance.now() - startMs) / 1000);
}

/** Events that reach watchers in a second, while a few writers patch one object each. */
async function* fanOut(bench: Bench): AsyncIterable<Row> {
  const { directory } = bench;
  const selector = `${PODS}?watch=1&fieldSelector=metadata.name%3Dlisted-0500`;
  using ours = new Connections(bench.ours, 8);
  using bare = new Connections(bench.bare, 8);
  const [one] = ours.sessions as [ClientHttp2Session];
  const object = await ask(one, { path: `${PODS}/listed-0500` });
  const event = `{"type":"MODIFIED","object":${object.toString().trim()}}\n`;
  writeFileSync(join(directory, "event"), event);
  const counted = { ours: 0, bare: 0 };
  const closing: Disposable[] = [
    watchAll(ours, selector, event.length, (n) => {
      counted.ours += n;
    }),
    watchAll(bare, "/watch/", event.length, (n) => {
      counted.bare += n;
    }),
  ];
  let n = 0;
  const deliver = async (which: "ours" | "bare", ms: number): Promise<number> => {
    const before = counted[which];
    const startMs = performance.now();
    if (which === "ours") {
      await ours.rate(ms, () => ({
        method: "PATCH",
        path: `${PODS}/listed-0500`,
        body: JSON.stringify({ metadata: { labels: { n: String(n++) } } }),
        contentType: "application/merge-patch+json",
      }));
    } else {
      await bare.rate(ms, () => ({ method: "POST", path: "/event/event" }));
    }
    return (counted[which] - before) / ((performance.now() - startMs) / 1000);
  };
  try {
    const result = await compare(
      bench,
      "watch fan-out",
      (ms) => deliver("ours", ms),
      (ms) => deliver("bare", ms),
    );
    yield {
      name: `watch fan-out, ${WATCHERS} watchers`,
      unit: "/s",
      limitName: "bare server",
      target: 0.5,
      ...result,
    };
  } finally {
    for (const one of closing) one[Symbol.dispose]();
  }
}

/** Opens the watches over the connections and counts events by their length. */
function watchAll(
  connections: Connections,
  path: string,
  eventBytes: number,
  count: (events: number) => void,
): Disposable {
  const streams = Array.from({ length: WATCHERS }, (_, i) => {
    const session = connections.sessions[i % connections.sessions.length]!;
    const stream = session.request({ ":path": path, authorization: "Bearer bench" });
    stream.on("data", (chunk: Buffer) => count(chunk.length / eventBytes));
    stream.on("error", () => undefined);
    stream.end();
    return stream;
  });
  return {
    [Symbol.dispose]: () => {
      for (const stream of streams) stream.close();
    },
  };
}

function idleMemory(pid: number): Row {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
  return { name: "idle memory (from source)", value: kilobytes / 1024, unit: "MB" };
}

/** From the start of the process to /readyz, with the built bundle if there is one. */
async function* startUp({ directory, quick, progress }: Bench): AsyncIterable<Row> {
  const bundle = fileURLToPath(new URL("../dist/k8ts.js", import.meta.url));
  if (!existsSync(bundle)) return;
  const own: number[] = [];
  const bar: number[] = [];
  for (let round = 0; round < (quick ? 3 : 5); round++) {
    progress(`start-up, round ${round + 1}`);
    bar.push(await timeToExit([process.execPath, "-e", "0"]));
    own.push(await timeToReady(bundle, join(directory, `start-${round}`)));
  }
  const value = median(own);
  yield { name: "start to /readyz", value, unit: "ms", limit: median(bar), limitName: "node -e 0" };
}

function timeToExit([command = "", ...args]: readonly string[]): Promise<number> {
  const startMs = performance.now();
  return new Promise((resolve) => {
    spawn(command, args).on("exit", () => resolve(performance.now() - startMs));
  });
}

async function timeToReady(bundle: string, directory: string): Promise<number> {
  const port = 20_000 + Math.floor(performance.now() % 20_000);
  const startMs = performance.now();
  const child = spawn(process.execPath, [
    bundle,
    "apiserver",
    "--data-dir",
    directory,
    "--secure-port",
    String(port),
    "--bind-address",
    "127.0.0.1",
  ]);
  try {
    for (;;) {
      using connection = new Connections(port, 1);
      const [session] = connection.sessions as [ClientHttp2Session];
      const ready = await ask(session, { path: "/readyz" }).catch(() => undefined);
      if (ready?.toString() === "ok") return performance.now() - startMs;
      if (performance.now() - startMs > 20_000) throw new Error("the server did not get ready");
    }
  } finally {
    child.kill("SIGKILL");
  }
}
