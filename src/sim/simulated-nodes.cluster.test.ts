import assert from "node:assert/strict";
import { test } from "vitest";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { silentLogger } from "#lib/logger.ts";
import { seededRandom } from "#lib/random.ts";
import { startCluster } from "#testing/cluster.ts";
import { DEFAULT_RENEW_MS, DEFAULT_SIMULATION, runSimulation } from "./run-simulation.ts";

test("simulated nodes: a node is created with the condition Ready and has a Lease, without a write of its status", async () => {
  await using cluster = await startCluster();
  const { client, clock } = cluster;
  const end = new AbortController();
  const simulation = runSimulation(
    {
      ...{ client, clock, random: seededRandom(1), logger: silentLogger, nodes: 2 },
      ...{ config: DEFAULT_SIMULATION, renewMs: DEFAULT_RENEW_MS, serving: undefined },
    },
    end.signal,
  );
  await simulation.ready;
  while (simulation.busy() > 0) await cluster.advance(0);
  for (const name of ["sim-0", "sim-1"]) {
    const { metadata, status } = cluster.get(nodeKind, name)!;
    assert.equal(status.conditions?.find(({ type }) => type === "Ready")?.status, "True");
    // A report would have added an entry for the subresource.
    assert.deepEqual(
      metadata.managedFields?.map(({ subresource }) => subresource),
      [undefined],
    );
    assert.ok(cluster.get(leaseKind, name, "kube-node-lease") !== undefined);
  }
  end.abort();
  await simulation.done.catch(() => undefined);
});
