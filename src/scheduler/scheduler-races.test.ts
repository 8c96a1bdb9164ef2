/**
 * Seeded simulations on virtual time: nodes and pods come and go while the API server loses
 * requests and answers. In the end the cluster is in a correct state.
 */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { quantityMilliValue, quantityOf } from "#api/meta/quantity.ts";
import { type Transport, TransportError } from "#client/transport.ts";
import { type Random, seededRandom } from "#lib/random.ts";
import { type SchedulingCluster, startScheduling } from "./scheduling.testing.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
const STEPS = 80;
const CPU = 4_000;

/** Loses some writes before they are carried out, and some answers after. */
function unreliable(transport: Transport, random: Random, state: { isOn: boolean }): Transport {
  return {
    ...transport,
    send: async (call, signal) => {
      const isWrite = call.verb !== "get" && call.verb !== "list";
      const chance = state.isOn && isWrite ? random.next() : 1;
      if (chance < 0.1) throw new TransportError("lost on the way");
      const result = await transport.send(call, signal);
      if (chance < 0.2) throw new TransportError("the answer was lost");
      return result;
    },
  };
}

async function step(world: SchedulingCluster, random: Random, i: number): Promise<void> {
  const { cluster } = world;
  const names = cluster.names(podKind);
  const nodes = cluster.names(nodeKind);
  const kind = random.integer(10);
  if (kind < 6) {
    const cpu = `${100 + random.integer(20) * 100}m`;
    const containers = [{ name: "c", image: "x", resources: { requests: { cpu } } }];
    await world.submit(`p${i}`, { containers, priority: random.integer(2) * 10 });
  } else if (kind < 8 && names.length > 0) {
    const name = names[random.integer(names.length)]!;
    const key = { namespace: "default", name };
    await cluster.client.delete(podKind, key, { gracePeriodSeconds: 0 });
  } else if (kind === 8) await world.node(`n${i}`);
  else if (nodes.length > 1) {
    await cluster.client.delete(nodeKind, { name: nodes[random.integer(nodes.length)]! });
  }
  if (random.next() < 0.3) await cluster.clock.advance(random.integer(3_000));
}

function cpuOn(world: SchedulingCluster, node: string): number {
  let sum = 0;
  for (const { spec } of world.cluster.list(podKind)) {
    if (spec.nodeName !== node) continue;
    sum += quantityMilliValue(quantityOf(spec.containers?.[0]?.resources?.requests?.cpu ?? "0"));
  }
  return sum;
}

describe("scheduler races on virtual time", () => {
  for (const seed of SEEDS) {
    test(`lost requests and answers: no node gets more than it has, no pod is forgotten (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const faults = { isOn: true };
      await using world = await startScheduling({
        seed,
        wrap: (transport) => unreliable(transport, random, faults),
      });
      for (const name of ["a", "b", "c"]) await world.node(name);
      for (let i = 0; i < STEPS; i++) {
        await step(world, random, i);
        for (const name of world.cluster.names(nodeKind)) {
          assert.ok(cpuOn(world, name) <= CPU, `node ${name} has ${cpuOn(world, name)}m`);
        }
      }
      faults.isOn = false;
      await world.advance(6 * 60_000);
      await world.node("large", {
        status: { allocatable: { cpu: "500", memory: "100Gi", pods: "500" } },
      });
      await world.advance(6 * 60_000);
      const pending = world.cluster
        .list(podKind)
        .filter(({ spec }) => (spec.nodeName ?? "") === "");
      assert.deepEqual(
        pending.map(({ metadata }) => metadata.name),
        [],
      );
    });
  }

  test("two schedulers: each pod is bound once and both come to rest", async () => {
    await using world = await startScheduling();
    await using other = await world.another();
    for (const name of ["a", "b", "c"]) await world.node(name);
    for (let i = 0; i < 30; i++) await world.submit(`p${i}`);
    await world.settle();
    await other.settle();
    await world.advance(15_000);
    const bound = world.cluster.list(podKind).filter(({ spec }) => spec.nodeName !== undefined);
    assert.equal(bound.length, 30);
  });
});
