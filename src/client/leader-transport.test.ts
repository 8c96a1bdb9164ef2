import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { success } from "#api/meta/status.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { startCluster } from "#testing/cluster.ts";
import { Client } from "./client.ts";
import { runLeaderElection } from "./leader-election.ts";
import { HeldLease, LeaderTransport } from "./leader-transport.ts";
import { type Call, type Transport, TransportError } from "./transport.ts";

/** A leader that holds its lease until 1,000 ms, and what reached the server. */
function leader(): {
  transport: Transport;
  lease: HeldLease;
  time: { nowMs: number };
  sent: Call[];
} {
  const time = { nowMs: 0 };
  const sent: Call[] = [];
  const lease = new HeldLease({ elapsedMs: () => time.nowMs });
  lease.holdUntil(1_000);
  const server = {
    send: async (call: Call) => {
      sent.push(call);
      return success({});
    },
  } as Transport;
  return { transport: new LeaderTransport(server, lease), lease, time, sent };
}

describe("LeaderTransport", () => {
  const rows = [
    { name: "a write while the lease is held is sent", atMs: 999, verb: "create", isSent: true },
    { name: "a write after the lease ran out fails", atMs: 1_000, verb: "create", isSent: false },
    { name: "a patch after the lease ran out fails", atMs: 5_000, verb: "patch", isSent: false },
    { name: "a get after the lease ran out is sent", atMs: 5_000, verb: "get", isSent: true },
    { name: "a list after the lease ran out is sent", atMs: 5_000, verb: "list", isSent: true },
  ] as const;
  for (const { name, atMs, verb, isSent } of rows) {
    test(name, async () => {
      const { transport, time, sent } = leader();
      time.nowMs = atMs;
      const answer = transport.send({ verb, kind: podKind, name: "p" });
      if (isSent) await answer;
      else await assert.rejects(answer, TransportError);
      assert.equal(sent.length, isSent ? 1 : 0);
    });
  }

  test("a Lease is written after the lease ran out: that is how it is taken again", async () => {
    const { transport, time, sent } = leader();
    time.nowMs = 5_000;
    await transport.send({ verb: "update", kind: leaseKind, name: "boss" });
    assert.equal(sent.length, 1);
  });

  test("writes are sent again when the work of the leader has ended", async () => {
    const { transport, lease, time, sent } = leader();
    time.nowMs = 5_000;
    lease.end();
    await transport.send({ verb: "create", kind: podKind });
    assert.equal(sent.length, 1);
  });
});

test("leader election: writes are held back from renewDeadline after the last renewal of the Lease on", async () => {
  await using cluster = await startCluster({ at: "2030-01-01T00:00:00Z" });
  const { clock, transport } = cluster;
  const held = new HeldLease(clock);
  const stop = new AbortController();
  let isCutOff = false;
  const cut: Transport = {
    ...transport,
    send: (call, signal) =>
      isCutOff ? Promise.reject(new TransportError("cut off")) : transport.send(call, signal),
  };
  const random = seededRandom(1);
  const client = new Client({ transport: cut, clock, random, fieldManager: "boss" });
  const seen: boolean[] = [];
  const lease = { namespace: "kube-system", name: "boss", identity: "a" };
  const done = runLeaderElection(
    { client, clock, random, logger: silentLogger, held, ...lease },
    (signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          seen.push(held.isOver);
          resolve();
        });
      }),
    stop.signal,
  );
  await clock.advance(60_000); // many renewals
  assert.equal(held.isOver, false);
  isCutOff = true;
  await clock.advance(12_000);
  assert.deepEqual(seen, [true]);
  assert.equal(held.isOver, false); // it does not lead any more
  stop.abort();
  await done;
});
