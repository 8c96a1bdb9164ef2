/**
 * Two controller managers with one lease. Every write that reaches the server is recorded, with who
 * sent it: it must come from the one that holds the lease at that moment, however they are cut off
 * and slowed down, and the other must be at work within the lease time.
 */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { type Transport, TransportError } from "#client/transport.ts";
import { builtInControllers } from "#controllers/registry/controllers.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import { Runtime } from "#runtime/run.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";

const LEASE = { namespace: "kube-system", name: "kube-controller-manager" };
const LEASE_MS = 15_000;
const RENEW_MS = 10_000;
const RETRY_MS = 2_000;
/** A write on its way may arrive after its sender gave up: so long the lease outlasts the term. */
const DELAY_MAX_MS = LEASE_MS - RENEW_MS - 1_000;

interface Written {
  readonly by: string;
  readonly atMs: number;
  /** Of the lease, as the server has it when the write arrives. */
  readonly holder: string | undefined;
}

class Manager {
  readonly identity: string;
  cutOff = false;
  slow = false;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(cluster: Cluster, identity: string, record: Written[], random: Random) {
    this.identity = identity;
    const { clock } = cluster;
    const transport = this.#recorded(cluster, record, random);
    const client = new Client({ transport, clock, random, fieldManager: identity });
    const lead = async (signal: AbortSignal): Promise<void> => {
      const recorder = { record: () => undefined };
      const metrics = new Metrics();
      const runtime = new Runtime({
        ...{ client, clock, random, logger: silentLogger, metrics, recorder },
      });
      await runtime.run([...builtInControllers({ rootCa: "ca" })], signal);
    };
    const times = {
      leaseDurationMs: LEASE_MS,
      renewDeadlineMs: RENEW_MS,
      retryPeriodMs: RETRY_MS,
    };
    this.#done = runLeaderElection(
      { client, clock, random, logger: silentLogger, identity, ...LEASE, ...times },
      lead,
      this.#stop.signal,
    );
  }

  #recorded(cluster: Cluster, record: Written[], random: Random): Transport {
    const { clock, transport: inner } = cluster;
    return {
      ...inner,
      send: async (call, signal) => {
        // What is on its way arrives, even if its sender has given up meanwhile.
        if (this.slow)
          await clock.sleep(random.integer(DELAY_MAX_MS), new AbortController().signal);
        if (this.cutOff) throw new TransportError("cut off");
        const isRead = call.verb === "get" || call.verb === "list";
        if (!isRead && call.kind.names.plural !== "leases") {
          const holder = cluster.get(leaseKind, LEASE.name, LEASE.namespace)?.spec.holderIdentity;
          record.push({ by: this.identity, atMs: clock.nowMs(), holder: holder ?? undefined });
        }
        return inner.send(call, this.slow ? undefined : signal);
      },
    };
  }

  async end(): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }
}

/** Work for the leader. */
async function makeWork(cluster: Cluster, name: string): Promise<void> {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  await cluster.seed(deploymentKind, {
    metadata: { name, generation: 1 },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  });
}

async function begin(seed: number) {
  const cluster = await startCluster({ seed });
  const record: Written[] = [];
  const managers = ["a", "b"].map(
    (identity, i) => new Manager(cluster, identity, record, seededRandom(seed * 2 + i)),
  );
  await cluster.seed(namespaceKind, { metadata: { name: "default" } });
  await makeWork(cluster, "first");
  await cluster.advance(5_000);
  return { cluster, record, managers };
}

async function end(cluster: Cluster, managers: readonly Manager[]): Promise<void> {
  const ended = managers.map((manager) => manager.end());
  await cluster.advance(30_000);
  await Promise.all(ended);
  await cluster[Symbol.asyncDispose]();
}

function assertOneAtATime(record: readonly Written[], seed: number): void {
  const strays = record.filter(({ by, holder }) => by !== holder);
  assert.deepEqual(strays, [], `seed ${seed}`);
}

describe("two controller managers", () => {
  test("of one that is cut off nothing comes any more, and the other works within the lease time", async () => {
    for (let seed = 1; seed <= 5; seed++) {
      const { cluster, record, managers } = await begin(seed);
      const leader = record[0]?.by;
      assert.deepEqual(new Set(record.map(({ by }) => by)), new Set([leader]), "one of them works");
      managers.find(({ identity }) => identity === leader)!.cutOff = true;
      const cutAtMs = cluster.clock.nowMs();
      await makeWork(cluster, "second");
      await cluster.advance(LEASE_MS + 2 * RETRY_MS);
      const after = record.find(({ atMs }) => atMs >= cutAtMs);
      assert.notEqual(after?.by, leader);
      assert.ok(
        after!.atMs - cutAtMs <= LEASE_MS + 1.2 * RETRY_MS,
        `after ${after!.atMs - cutAtMs}`,
      );
      assert.equal(cluster.list(podKind).length, 4);
      assertOneAtATime(record, seed);
      await end(cluster, managers);
    }
  });

  test("however slow or cut off, only the holder of the lease writes, and all work gets done", async () => {
    let changes = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const { cluster, record, managers } = await begin(seed);
      const random = seededRandom(seed);
      for (let round = 0; round < 40; round++) {
        const one = managers[random.integer(2)]!;
        one.cutOff = random.next() < 0.6;
        one.slow = random.next() < 0.4;
        if (round % 3 === 0) await makeWork(cluster, `round-${round}`);
        await cluster.advance(random.integer(9_000));
      }
      for (const manager of managers) Object.assign(manager, { cutOff: false, slow: false });
      await cluster.advance(120_000);
      assertOneAtATime(record, seed);
      changes += record.filter(({ by }, i) => i > 0 && by !== record[i - 1]?.by).length;
      assert.equal(cluster.list(podKind).length, 2 * cluster.list(deploymentKind).length);
      await end(cluster, managers);
    }
    assert.ok(changes >= 8, `it changed hands ${changes} times`);
  }, 120_000);
});
