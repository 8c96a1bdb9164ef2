/**
 * How fast a Deployment gets its pods: from a cluster that has just been started, as users start it;
 * and with API server, embedded store and controllers in this process, beside what the store alone
 * can write durably in the same run, and whether the ten thousandth pod costs what the thousandth did.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceAccountKind } from "#api/kinds/core/v1/service-account.ts";
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile } from "#client/kubeconfig.ts";
import { parseFlags } from "#cmd/apiserver/flags/flags.ts";
import { type RunningApiServer, runApiServer } from "#cmd/apiserver/run.ts";
import { runControllers } from "#cmd/controller-manager/run-controllers.ts";
import { inProcessTransport } from "#cmd/in-process/in-process-transport.ts";
import { builtInControllers } from "#controllers/registry/controllers.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { openEmbeddedStore } from "#store/embedded.ts";
import { completed } from "#testing/build.ts";
import { openHttp1 } from "./load/http1-asker.ts";
import { launcherMs, residentMb, startProgram } from "./load/server-processes.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "controllers";

const ADMIN: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const POD_BYTES = 2_500;
/** What upstream reaches on a machine like this one, and how much faster we want to be. */
const UPSTREAM_PODS_PER_SECOND = 285;
const UPSTREAM_COLLECTED_PER_SECOND = 195;
const WANTED_FACTOR = 4;
/** Often enough to see the end, seldom enough to cost nothing. */
const LOOK_EVERY_MS = 10;
const SURROUNDINGS = { clock: systemClock, random: systemRandom, fieldManager: "bench" };

export async function* run({ quick, progress }: BenchOptions): AsyncIterable<Row> {
  progress("a cluster of its own, deployment to 1,000 pods");
  const program = await podsOfProgram(1_000);
  yield {
    name: "`up`, just started, deployment to 1,000 pods",
    value: program.created,
    unit: "pods/s",
    limit: UPSTREAM_PODS_PER_SECOND * WANTED_FACTOR,
    limitName: "4 × upstream",
    target: 1,
  };
  yield {
    name: "… collected after the deletion of the Deployment",
    value: program.collected,
    unit: "pods/s",
    limit: UPSTREAM_COLLECTED_PER_SECOND * WANTED_FACTOR,
    limitName: "4 × upstream",
    target: 1,
  };
  yield { name: "… memory after that", value: program.memoryMb, unit: "MB" };
  progress("bare store");
  const bare = await bareWrites(quick ? 2_000 : 10_000);
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  const life = new AbortController();
  const flags = parseFlags([
    "--data-dir",
    folder,
    "--secure-port",
    "0",
    "--bind-address",
    "127.0.0.1",
  ]);
  const surroundings = {
    clock: systemClock,
    random: systemRandom,
    logger: silentLogger,
    hostname: "bench",
  };
  const server = await runApiServer(flags, surroundings, life.signal);
  const client = clientOf(server);
  const controllers = runControllers(
    {
      controllers: builtInControllers({ rootCa: "ca" }),
      collectGarbage: true,
      client: client.as("kube-controller-manager"),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      metrics: new Metrics(),
    },
    life.signal,
  );
  try {
    await server.bootstrapped;
    await untilAccount(client);
    progress("deployment to 1,000 pods");
    const first = await timeToPods(client, server, "first", 1_000);
    yield {
      name: "in this process, deployment to 1,000 pods",
      value: first,
      unit: "pods/s",
      limit: bare,
      limitName: "bare durable writes/s",
    };
    if (quick) return;
    yield* onToTenThousand(client, server, first, progress);
  } finally {
    life.abort();
    await controllers.catch(() => undefined);
    await server.close(0);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every pod costs what the others do: each thousand beside the first, in time and in memory. */
async function* onToTenThousand(
  client: Client,
  server: RunningApiServer,
  first: number,
  progress: BenchOptions["progress"],
): AsyncIterable<Row> {
  const held: number[] = [memory()];
  for (let thousand = 2; thousand <= 10; thousand++) {
    progress(`thousand ${thousand}`);
    const rate = await timeToPods(client, server, `more-${thousand}`, 1_000);
    held.push(memory());
    yield {
      name: `thousand ${thousand}`,
      value: rate,
      unit: "pods/s",
      limit: first,
      limitName: "the first thousand",
      ...(thousand === 10 ? { target: 0.7 } : {}),
    };
  }
  const kibOfEach = (from: number, to: number): number =>
    (held[to]! - held[from]!) / (to - from) / 1_000 / 1024;
  yield {
    name: "memory a pod, of the last 4,000",
    value: kibOfEach(5, 9),
    unit: "KiB",
    limit: kibOfEach(0, 5),
    limitName: "KiB of those before",
    target: 1.25,
  };
}

function clientOf({ api }: RunningApiServer): Client {
  const transport = inProcessTransport(api.handle, ADMIN, "bench");
  return new Client({ transport, ...SURROUNDINGS });
}

interface ProgramFigures {
  /** Pods a second, over HTTPS. */
  readonly created: number;
  readonly collected: number;
  readonly memoryMb: number;
}

async function podsOfProgram(replicas: number): Promise<ProgramFigures> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  try {
    await launcherMs(); // builds if need be
    await using server = await startProgram(["up", "--foreground", "--no-node"], folder);
    const connection = connectionFromFile(join(folder, "admin.kubeconfig"));
    using transport = new HttpsTransport(connection, "bench");
    const client = new Client({ transport, ...SURROUNDINGS });
    await untilAccount(client);
    using asker = await openHttp1(server.port, server.identity);
    const page = { method: "GET", path: "/api/v1/pods?limit=1", keep: true } as const;
    const pods = async (): Promise<number> => {
      const { items, metadata } = JSON.parse((await asker.ask(page)).toString());
      return items.length + (metadata.remainingItemCount ?? 0);
    };
    const created = await rateOfDeployment(client, "first", replicas, pods);
    const collected = await rateOfCollection(client, "first", pods);
    return { created, collected, memoryMb: residentMb(server.pid) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timeToPods(
  client: Client,
  { api }: RunningApiServer,
  app: string,
  replicas: number,
): Promise<number> {
  let count = 0;
  const done = new AbortController();
  api.objects.onChange(
    podKind,
    (next, old) => {
      if (old === undefined && next?.metadata.labels?.app === app) count += 1;
    },
    done.signal,
  );
  const rate = await rateOfDeployment(client, app, replicas, async () => count);
  done.abort();
  return rate;
}

/** Pods a second, from asking for the Deployment until all of them are there. */
async function rateOfDeployment(
  client: Client,
  app: string,
  replicas: number,
  pods: () => Promise<number>,
): Promise<number> {
  const labels = { app };
  const deployment = completed(deploymentKind, {
    metadata: { name: app, namespace: "default" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "busybox" }] } },
    },
  });
  const startMs = performance.now();
  const created = await client.create(deploymentKind, deployment);
  if (!created.ok) throw new Error(created.status.message);
  await waitUntil(async () => (await pods()) >= replicas, LOOK_EVERY_MS);
  return (replicas / (performance.now() - startMs)) * 1000;
}

/** Pods a second, from asking for the deletion of the Deployment until none of them is there. */
async function rateOfCollection(
  client: Client,
  app: string,
  pods: () => Promise<number>,
): Promise<number> {
  const count = await pods();
  const startMs = performance.now();
  const deleted = await client.delete(deploymentKind, { namespace: "default", name: app });
  if (!deleted.ok) throw new Error(deleted.status.message);
  await waitUntil(async () => (await pods()) === 0, LOOK_EVERY_MS);
  return (count / (performance.now() - startMs)) * 1000;
}

async function untilAccount(client: Client): Promise<void> {
  const account = { namespace: "default", name: "default" };
  await waitUntil(async () => (await client.get(serviceAccountKind, account)).ok);
}

async function bareWrites(count: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  const store = await openEmbeddedStore({ directory: folder, clock: systemClock });
  const value = new Uint8Array(POD_BYTES).fill(120);
  const startMs = performance.now();
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < count) await store.put(`/registry/pods/default/p${next++}`, value);
  };
  await Promise.all(Array.from({ length: 128 }, writer));
  const rate = (count / (performance.now() - startMs)) * 1000;
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
  return rate;
}

async function waitUntil(isSo: () => Promise<boolean>, pauseMs = 1): Promise<void> {
  for (let i = 0; i < 60_000; i++) {
    if (await isSo()) return;
    await systemClock.sleep(pauseMs);
  }
  throw new Error("it takes too long");
}

/** What lives, without what only waits to be collected. */
function memory(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
