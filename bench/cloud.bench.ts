/**
 * Load balancers of the simulated cloud: the time from the first create of 1,000 Services of type
 * LoadBalancer until all have an address, with API server, embedded store and service controller in
 * this process; and how often the cloud is asked when one node changes and when nothing that matters
 * changes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import { SimulatedCloud } from "#cloud/providers/simulated/simulated-cloud.ts";
import { createSimulatedProvider } from "#cloud/providers/simulated/simulated-provider.ts";
import { serviceController } from "#cloud/service/service-controller.ts";
import { parseFlags } from "#cmd/apiserver/flags/flags.ts";
import { runApiServer } from "#cmd/apiserver/run.ts";
import { runControllers } from "#cmd/controller-manager/run-controllers.ts";
import { inProcessTransport } from "#cmd/in-process/in-process-transport.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { completed } from "#testing/build.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "cloud";

const ADMIN: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const SERVICES = 1_000;
const ADDRESSES_WITHIN_MS = 5_000;
const CREATED_AT_ONCE = 32;
const LOOK_EVERY_MS = 50;
/** Long enough for whatever a change causes. */
const QUIET_MS = 1_000;

export async function* run({ progress }: BenchOptions): AsyncIterable<Row> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  const life = new AbortController();
  const around = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const flags = parseFlags([
    ...["--data-dir", folder, "--secure-port", "0", "--bind-address", "127.0.0.1"],
    ...["--service-cluster-ip-range", "10.96.0.0/16"],
  ]);
  const server = await runApiServer(flags, { ...around, hostname: "bench" }, life.signal);
  const transport = inProcessTransport(server.api.handle, ADMIN, "bench");
  const client = new Client({ transport, ...around, fieldManager: "bench" });
  const cloud = new SimulatedCloud({ clock: systemClock });
  const balancers = createSimulatedProvider(cloud).loadBalancers!;
  let controllers: Promise<unknown> | undefined;
  try {
    await server.bootstrapped;
    await addNode(client, "a");
    progress(`${SERVICES} Services`);
    controllers = runControllers(
      {
        controllers: [serviceController({ balancers, clusterName: "kubernetes", workers: 32 })],
        ...{ collectGarbage: false, client, ...around, metrics: new Metrics() },
      },
      life.signal,
    );
    const startMs = systemClock.elapsedMs();
    const startCpu = process.cpuUsage();
    await createServices(client);
    const createMs = systemClock.elapsedMs() - startMs;
    yield { name: "1,000 LoadBalancer Services created", value: createMs, unit: "ms" };
    await until(() => withAddress(client).then((count) => count === SERVICES));
    yield {
      ...{ name: "the first create to 1,000 addresses", unit: "ms" },
      ...{ value: systemClock.elapsedMs() - startMs, target: 1 },
      ...{ limit: ADDRESSES_WITHIN_MS, limitName: "ms allowed" },
    };
    const { user, system } = process.cpuUsage(startCpu);
    yield { name: "CPU time of it", value: (user + system) / 1000, unit: "ms" };
    const perBalancer = { limit: SERVICES, limitName: "load balancers" };
    const calls = { name: "cloud calls until then", unit: "calls", value: asked(cloud) };
    yield { ...calls, ...perBalancer, target: 1 };
    progress("a node");
    let before = asked(cloud);
    await addNode(client, "b");
    await until(async () => asked(cloud) - before >= SERVICES);
    await systemClock.sleep(QUIET_MS);
    const added = { name: "cloud calls when a node is added", value: asked(cloud) - before };
    yield { ...added, unit: "calls", ...perBalancer, target: 1 };
    before = asked(cloud);
    await heartbeat(client, "b");
    await systemClock.sleep(QUIET_MS);
    yield {
      ...{ name: "cloud calls for a heartbeat of a node", unit: "calls" },
      ...{ value: asked(cloud) - before, ...perBalancer, target: 0 },
    };
  } finally {
    life.abort();
    await controllers?.catch(() => undefined);
    await server.close(0);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Everything that changes something in the cloud. */
function asked(cloud: SimulatedCloud): number {
  return (["ensure", "update", "remove"] as const)
    .map((verb) => cloud.calls(`balancer.${verb}`))
    .reduce((sum, count) => sum + count, 0);
}

async function createServices(client: Client): Promise<void> {
  let next = 0;
  const create = async (): Promise<void> => {
    for (let at = next++; at < SERVICES; at = next++) {
      const made = await client.create(serviceKind, {
        ...{ apiVersion: "v1", kind: "Service" },
        metadata: { namespace: "default", name: `web-${at}` },
        spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
      } as never);
      if (!made.ok) throw new Error(made.status.message);
    }
  };
  await Promise.all(Array.from({ length: CREATED_AT_ONCE }, create));
}

async function withAddress(client: Client): Promise<number> {
  const listed = await client.list(serviceKind, { namespace: "default" });
  if (!listed.ok) throw new Error(listed.status.message);
  return listed.value.items.filter(({ status }) => (status?.loadBalancer?.ingress ?? []).length > 0)
    .length;
}

async function addNode(client: Client, node: string): Promise<void> {
  const made = await client.create(nodeKind, completed(nodeKind, { metadata: { name: node } }));
  if (!made.ok) throw new Error(made.status.message);
  await heartbeat(client, node);
}

async function heartbeat(client: Client, node: string): Promise<void> {
  const now = new Date(systemClock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const ready = { type: "Ready", status: "True", lastHeartbeatTime: now, reason: "KubeletReady" };
  const changed = await client.patch(
    ...([nodeKind, { namespace: "", name: node }, "merge"] as const),
    { status: { conditions: [ready] } },
    { subresource: "status" },
  );
  if (!changed.ok) throw new Error(changed.status.message);
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await systemClock.sleep(LOOK_EVERY_MS);
}
