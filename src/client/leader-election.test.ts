import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Lease } from "#api/generated/coordination.v1.ts";
import type { Draft } from "#api/kind.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { type Cluster, startCluster } from "#testing/cluster.ts";
import { Client } from "./client.ts";
import { leaderInAnnotation, runLeaderElection } from "./leader-election.ts";
import { type Transport, TransportError } from "./transport.ts";

interface Candidate {
  readonly terms: { readonly fromMs: number; toMs: number }[];
  readonly stop: AbortController;
  readonly done: Promise<void>;
  /** Cuts it off from the server. */
  cutOff: boolean;
  /** Of the requests that it sent. */
  readonly verbs: string[];
}

function candidate(cluster: Cluster, identity: string): Candidate {
  const { clock } = cluster;
  const terms: { fromMs: number; toMs: number }[] = [];
  const stop = new AbortController();
  const verbs: string[] = [];
  const flaky = { cutOff: false };
  const random = seededRandom(identity.charCodeAt(0));
  const inner = cluster.transport;
  const transport: Transport = {
    ...inner,
    send: (call, signal) => {
      verbs.push(call.verb);
      if (flaky.cutOff) return Promise.reject(new TransportError("cut off"));
      return inner.send(call, signal);
    },
  };
  const client = new Client({ transport, clock, random, fieldManager: identity });
  const done = runLeaderElection(
    {
      client,
      clock,
      random,
      logger: silentLogger,
      namespace: "kube-system",
      name: "boss",
      identity,
    },
    async (signal) => {
      const term = { fromMs: clock.nowMs(), toMs: Number.POSITIVE_INFINITY };
      terms.push(term);
      await new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      term.toMs = clock.nowMs();
    },
    stop.signal,
  );
  return {
    terms,
    stop,
    done,
    verbs,
    get cutOff() {
      return flaky.cutOff;
    },
    set cutOff(v) {
      flaky.cutOff = v;
    },
  };
}

function overlaps(a: Candidate, b: Candidate): boolean {
  return a.terms.some((x) => b.terms.some((y) => x.fromMs < y.toMs && y.fromMs < x.toMs));
}

describe("leader election", () => {
  test("one leads; when it is cut off it stops before another begins, within the lease time", async () => {
    await using cluster = await startCluster();
    const a = candidate(cluster, "a");
    await cluster.advance(5_000);
    const b = candidate(cluster, "b");
    await cluster.advance(60_000);
    assert.deepEqual([a.terms.length, b.terms.length], [1, 0]);
    a.cutOff = true;
    const cutAtMs = cluster.clock.nowMs();
    await cluster.advance(30_000);
    assert.equal(b.terms.length, 1);
    assert.ok(a.terms[0]!.toMs - cutAtMs <= 10_000, "gave up in time");
    assert.ok(b.terms[0]!.fromMs - cutAtMs <= 15_000 + 2 * 2_400, "taken over in time");
    assert.ok(!overlaps(a, b));
    assert.equal(cluster.get(leaseKind, "boss", "kube-system")?.spec.leaseTransitions, 1);
    a.cutOff = false;
    await cluster.advance(60_000);
    assert.equal(a.terms.length, 1, "the old leader waits for its turn");
    for (const one of [a, b]) one.stop.abort();
    await cluster.settle();
    await Promise.all([a.done, b.done]);
  });

  test("one that ends gives the lease back, and another leads at once", async () => {
    await using cluster = await startCluster();
    const a = candidate(cluster, "a");
    await cluster.advance(5_000);
    const b = candidate(cluster, "b");
    await cluster.advance(10_000);
    a.stop.abort();
    await cluster.advance(3_000);
    assert.equal(b.terms.length, 1);
    assert.ok(!overlaps(a, b));
    b.stop.abort();
    await cluster.settle();
    await Promise.all([a.done, b.done]);
  });

  test("however they are cut off, never two lead at once", async () => {
    for (let seed = 1; seed <= 5; seed++) {
      await using cluster = await startCluster({ seed });
      const random = seededRandom(seed);
      const all = ["a", "b", "c"].map((identity) => candidate(cluster, identity));
      for (let i = 0; i < 40; i++) {
        await cluster.advance(random.integer(8_000));
        const one = all[random.integer(all.length)]!;
        one.cutOff = random.next() < 0.6;
      }
      for (const one of all) one.stop.abort();
      await cluster.settle();
      await Promise.all(all.map(({ done }) => done));
      for (const [i, x] of all.entries()) {
        for (const y of all.slice(i + 1)) assert.ok(!overlaps(x, y), `seed ${seed}`);
      }
      assert.ok(all.some(({ terms }) => terms.length > 0));
    }
  });

  test("leader election: the holder renews its Lease with one update and reads it only after a conflict", async () => {
    await using cluster = await startCluster();
    const a = candidate(cluster, "a");
    await cluster.advance(5_000);
    a.verbs.length = 0;
    await cluster.advance(20_000);
    assert.ok(a.verbs.length >= 8, "renewals go on");
    assert.deepEqual([...new Set(a.verbs)], ["update"]);
    const relabel = (lease: Draft<Lease>): void => void (lease.metadata.labels = { by: "b" });
    await cluster.edit(leaseKind, "boss", relabel, "kube-system");
    a.verbs.length = 0;
    await cluster.advance(5_000);
    assert.deepEqual(a.verbs.slice(0, 4), ["update", "get", "update", "update"]);
    assert.deepEqual(cluster.get(leaseKind, "boss", "kube-system")?.metadata.labels, { by: "b" });
    assert.equal(a.terms.length, 1);
    a.stop.abort();
    await cluster.settle();
    await a.done;
  });

  test("the old annotation can be read", () => {
    const annotated = (text: string) => ({
      metadata: { annotations: { "control-plane.alpha.kubernetes.io/leader": text } },
    });
    assert.equal(
      leaderInAnnotation(annotated('{"holderIdentity":"host_1","leaseDurationSeconds":15}')),
      "host_1",
    );
    assert.equal(leaderInAnnotation(annotated("not json")), undefined);
    assert.equal(leaderInAnnotation({ metadata: {} }), undefined);
  });
});

test("a leader whose work fails gives the lease back and fails", async () => {
  await using cluster = await startCluster();
  const { client, clock } = cluster;
  const stop = new AbortController();
  const election = runLeaderElection(
    {
      ...{ client, clock, random: seededRandom(1), logger: silentLogger },
      ...{ namespace: "kube-system", name: "boss", identity: "a" },
    },
    () => Promise.reject(new Error("broken")),
    stop.signal,
  );
  let failed: unknown;
  election.catch((error: unknown) => (failed = error));
  await cluster.advance(5_000);
  stop.abort();
  assert.equal((failed as Error | undefined)?.message, "broken");
});
