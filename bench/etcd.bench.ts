/**
 * The API server on a real etcd, beside what the same client does with the bare etcd: linearizable
 * reads and transactions of one pod, as many at once. With K8TS_KUBE_APISERVER, upstream's program, that
 * one takes its turns on an etcd of its own, with a kube-controller-manager if that lies beside it;
 * K8TS_BENCH_UPSTREAM, the kubeconfig of a server that runs already, does the same without the manager.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Store } from "#store/contract.ts";
import { startEtcd } from "../test/store/etcd-cluster.ts";
import { openWhenReady } from "../test/store/open-etcd.ts";
import {
  hasUpstreamManager,
  type ManagerProcess,
  startManager,
} from "./load/controller-managers.ts";
import { type Contender, cpuInTurns } from "./load/cpu-in-turns.ts";
import { type DeploymentRates, deploymentRates, makeNamespace } from "./load/deployments.ts";
import { openHttp1 } from "./load/http1-asker.ts";
import { inTurns, median } from "./load/in-turns.ts";
import { KUBE_APISERVER, startKubeApiServer } from "./load/kube-apiserver.ts";
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

/** Of our process. The embedded store takes about 200, so the ratio of the two is wanted as well. */
const CREATE_CPU_MICROS_MAX = 300;
const CREATE_CPU_FACTOR_MAX = 1.5;

const CREATE_WIDTH = 64;
const MEMORY_FACTOR_MAX = 0.5;
const DEPLOYMENT_FACTOR = 3;
const REPLICAS = 1_000;
/**
 * Not counted: servers and managers have just started. As many creates as in-turns.ts warms up with, so
 * that V8 has compiled what they do.
 */
const WARM_UP_ROUNDS = 4;
/** Then both sides have given back what a burst left behind. */
const REST_MS = 30_000;

type Server = Pick<ServerProcess, "port" | "identity"> & { readonly pid?: number };
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
    await using stack = new AsyncDisposableStack();
    const upstream =
      upstreamServer(process.env.K8TS_BENCH_UPSTREAM) ?? (await startUpstream(directory, stack));
    for (const server of upstream === undefined ? [ours] : [ours, upstream]) {
      const askers = await open(server, 16);
      await makePods(askers, LISTED, listedName);
      closeAll(askers);
    }
    // Before the loads of a fixed time, which leave more objects behind on the faster side.
    yield* deployments(options, ours, upstream, join(directory, "ours"));
    for (const one of cases()) yield* measured(options, one, ours, upstream, store);
    yield* createCpu(options, ours, join(directory, "embedded"));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function creates(): Load {
  let series = 0;
  return (askers) => (ms) => {
    const prefix = `made-${Date.now()}-${series++}`;
    return measureLoad(askers, ms, (c, n) => post(PODS, podNamed(`${prefix}-${c}-${n}`)));
  };
}

function cases(): Case[] {
  let series = 0;
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
    {
      row: "create, 64 connections",
      width: CREATE_WIDTH,
      load: creates(),
      bare: "put",
      factor: 2.5,
    },
    { row: "create, 1 connection", width: 1, load: creates(), bare: "put", factor: 1.5 },
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

/** A create on etcd beside one on the embedded store, on a machine that may be busy with other work. */
async function* createCpu(
  { quick, progress }: BenchOptions,
  ours: ServerProcess,
  dataDir: string,
): AsyncIterable<Row> {
  progress("create, processor time");
  await using embedded = await startProgram(["apiserver"], dataDir);
  const contenders: Contender[] = [];
  const opened: Requester[] = [];
  for (const server of [ours, embedded]) {
    const askers = await open(server, CREATE_WIDTH);
    await makePods(askers, 1, listedName);
    opened.push(...askers);
    contenders.push({ pid: server.pid, load: creates()(askers) });
  }
  const [value, limit] = await cpuInTurns(contenders, 2_000, quick ? 2 : 5);
  closeAll(opened);
  const beside = { limit: limit!, limitName: "embedded", target: CREATE_CPU_FACTOR_MAX };
  yield { name: "create, CPU beside the embedded store", value: value!, unit: "µs", ...beside };
}

/**
 * Pods of a Deployment with a controller manager: ours with ours, upstream's with upstream's. Then the
 * memory of server and manager, after the same number of requests, with the same objects, at rest.
 */
async function* deployments(
  { quick, progress, signal }: BenchOptions,
  ours: ServerProcess,
  upstream: Server | undefined,
  keysOf: string,
): AsyncIterable<Row> {
  await using stack = new AsyncDisposableStack();
  const start = (program: "ours" | "upstream", server: Server): Side => {
    const manager = stack.use(startManager({ program, port: server.port, keysOf }));
    return { server, manager, rates: [] };
  };
  const own = start("ours", ours);
  const beside = hasUpstreamManager && upstream?.pid !== undefined;
  const theirs = beside ? start("upstream", upstream) : undefined;
  const sides = theirs === undefined ? [own] : [own, theirs];
  for (const { server } of sides) {
    using asker = await openHttp1(server.port, server.identity);
    await makeNamespace(asker);
  }
  for (let round = 0; round < WARM_UP_ROUNDS + (quick ? 2 : 4); round++) {
    for (const { server, rates } of sides) {
      progress(`Deployment, round ${round}`);
      using asker = await openHttp1(server.port, server.identity);
      const found = await deploymentRates(asker, `deployment-${round}`, REPLICAS);
      if (round >= WARM_UP_ROUNDS) rates.push(found);
    }
  }
  for (const part of ["created", "collected"] as const) {
    const rateOf = ({ rates }: Side): number => median(rates.map((rate) => rate[part]));
    const row = part === "created" ? `Deployment to ${REPLICAS} pods` : "… collected";
    yield { name: row, value: rateOf(own), unit: "/s" };
    if (theirs === undefined) continue;
    const wish = part === "created" ? { target: DEPLOYMENT_FACTOR } : {};
    const limit = { limit: rateOf(theirs), limitName: "upstream", ...wish };
    yield { name: "… beside upstream", value: rateOf(own), unit: "/s", ...limit };
  }
  progress("rest");
  await systemClock.sleep(REST_MS, signal);
  yield* memoryRows("memory of the API server after that", [own.server], theirs && [theirs.server]);
  yield* memoryRows("memory of the manager", [own.manager], theirs && [theirs.manager]);
  yield* memoryRows(
    "memory of both",
    [own.server, own.manager],
    theirs && [theirs.server, theirs.manager],
  );
}

/** A server with its manager, and what was measured of them. */
interface Side {
  readonly server: Server;
  readonly manager: ManagerProcess;
  readonly rates: DeploymentRates[];
}

function* memoryRows(
  row: string,
  ours: readonly { readonly pid?: number }[],
  theirs: readonly { readonly pid?: number }[] | undefined,
): Iterable<Row> {
  const sum = (all: readonly { readonly pid?: number }[]): number =>
    all.reduce((total, { pid }) => total + (pid === undefined ? Number.NaN : residentMb(pid)), 0);
  const beside =
    theirs === undefined
      ? {}
      : { limit: sum(theirs), limitName: "upstream", target: MEMORY_FACTOR_MAX };
  yield { name: row, value: sum(ours), unit: "MB", ...beside };
}

async function startUpstream(
  directory: string,
  stack: AsyncDisposableStack,
): Promise<Server | undefined> {
  if (KUBE_APISERVER === "") return undefined;
  const etcd = stack.use(await startEtcd({ directory: join(directory, "etcd-upstream") }));
  return stack.use(
    await startKubeApiServer({
      etcdServers: etcd.endpoints,
      keysOf: join(directory, "ours"),
      directory: join(directory, "upstream"),
      hasAccounts: true, // pods get a token volume on both sides
    }),
  );
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
