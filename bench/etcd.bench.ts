/**
 * The API server on a real etcd, beside what the same client does with the bare etcd: linearizable
 * reads and transactions of one pod, as many at once. With K8TS_BENCH_UPSTREAM, the kubeconfig of an
 * upstream API server on an etcd of its own, that one takes its turns, too.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "#store/contract.ts";
import { startEtcd } from "../test/store/etcd-cluster.ts";
import { openWhenReady } from "../test/store/open-etcd.ts";
import { openHttp1 } from "./load/http1-asker.ts";
import { inTurns } from "./load/in-turns.ts";
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
import { residentMb, type ServerProcess, startProgram } from "./load/server-processes.ts";
import { identityOf, portOf } from "./load/tls-identity.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "etcd";

/** Of our process. The embedded store takes about 200. */
const CREATE_CPU_MICROS_MAX = 300;

type Server = Pick<ServerProcess, "port" | "identity">;
type Load = (askers: readonly Requester[]) => (ms: number) => Promise<Measured>;

interface Case {
  readonly row: string;
  readonly width: number;
  readonly load: Load;
  readonly bare: "get" | "put";
  /** How much better than upstream we want to be. */
  readonly factor: number;
}

export async function* run(options: BenchOptions): AsyncIterable<Row> {
  const directory = mkdtempSync(join(tmpdir(), "k8ts-bench-etcd-"));
  try {
    options.progress("starting etcd and the server");
    await using etcd = await startEtcd({ directory: join(directory, "etcd") });
    await using store = await openWhenReady(etcd.endpoints);
    const command = ["apiserver", "--etcd-servers", etcd.endpoints.join(",")];
    await using ours = await startProgram(command, join(directory, "ours"));
    const upstream = upstreamServer(process.env.K8TS_BENCH_UPSTREAM);
    for (const server of upstream === undefined ? [ours] : [ours, upstream]) {
      const askers = await open(server, 16);
      await makePods(askers, LISTED, listedName);
      closeAll(askers);
    }
    for (const one of cases()) yield* measured(options, one, ours, upstream, store);
    yield { name: "memory of the server", value: residentMb(ours.pid), unit: "MB" };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function cases(): Case[] {
  let series = 0;
  const creates: Load = (askers) => (ms) => {
    const prefix = `made-${Date.now()}-${series++}`;
    return measureLoad(askers, ms, (c, n) => post(PODS, podNamed(`${prefix}-${c}-${n}`)));
  };
  const asking =
    (next: (connection: number) => ReturnType<typeof get>): Load =>
    (askers) =>
    (ms) =>
      measureLoad(askers, ms, next);
  const gets = asking(() => get(ONE_POD));
  const lists = asking(() => get(PODS));
  const patches = asking((c) => labelPatch(c, String(series++)));
  const applies = asking((c) => applyOf(c, String(series++)));
  return [
    { row: "GET a pod, 32 connections", width: 32, load: gets, bare: "get", factor: 5 },
    { row: `LIST ${LISTED} pods`, width: 4, load: lists, bare: "get", factor: 5 },
    { row: "create, 64 connections", width: 64, load: creates, bare: "put", factor: 2.5 },
    { row: "create, 1 connection", width: 1, load: creates, bare: "put", factor: 1.5 },
    { row: "merge patch, 32 connections", width: 32, load: patches, bare: "put", factor: 3.5 },
    {
      row: "server-side apply, 32 connections",
      width: 32,
      load: applies,
      bare: "put",
      factor: 3.5,
    },
  ];
}

async function* measured(
  options: BenchOptions,
  { row, width, load, bare, factor }: Case,
  ours: ServerProcess,
  upstream: Server | undefined,
  store: Store,
): AsyncIterable<Row> {
  const own = await open(ours, width);
  const beside = upstream && (await open(upstream, width));
  const result = await inTurns(options, {
    name: row,
    pid: ours.pid,
    own: load(own),
    limit: bareLoad(store, width, bare),
    upstream: beside && load(beside),
  });
  closeAll([...own, ...(beside ?? [])]);
  const { perSecond, ratio, cpuMicros, upstreamPerSecond } = result;
  yield { name: row, value: perSecond, unit: "/s", ratio, limitName: `bare etcd ${bare}` };
  if (upstreamPerSecond !== undefined) {
    const limit = { limit: upstreamPerSecond, limitName: "upstream", target: factor };
    yield { name: "… beside upstream", value: perSecond, unit: "/s", ...limit };
  }
  const isCreate = row === "create, 64 connections";
  const wish = { limit: CREATE_CPU_MICROS_MAX, limitName: "wish", target: 1 };
  yield { name: "… CPU a request", value: cpuMicros, unit: "µs", ...(isCreate ? wish : {}) };
}

function bareLoad(store: Store, width: number, kind: "get" | "put") {
  const value = Buffer.from(podNamed("bare"));
  return (windowMs: number): Promise<Measured> => {
    const series = performance.now();
    const askers = Array.from({ length: width }, (_, writer) => {
      let n = 0;
      return {
        ask: async () => {
          const key = `/registry-bare/${series}-${writer}-${n++}`;
          if (kind === "put") await store.put(key, value, { mustNotExist: true });
          else await store.get("/registry/pods/default/listed-0000");
          return value;
        },
        [Symbol.dispose]: () => undefined,
      };
    });
    return measureLoad(askers, windowMs, () => get(""));
  };
}

function upstreamServer(kubeconfig: string | undefined): Server | undefined {
  if (kubeconfig === undefined) return undefined;
  return { port: portOf(kubeconfig), identity: identityOf(kubeconfig) };
}

function open({ port, identity }: Server, count: number): Promise<Requester[]> {
  return Promise.all(Array.from({ length: count }, () => openHttp1(port, identity)));
}

function closeAll(askers: readonly Requester[]): void {
  for (const asker of askers) asker[Symbol.dispose]();
}
