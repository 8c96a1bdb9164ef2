/**
 * Seeded simulations on virtual time: nodes and pods come and go while the API server loses
 * requests and answers. In the end the cluster is in a correct state.
 */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { quantityMilliValue, quantityOf } from "#api/meta/quantity.ts";
import { type Call, type Transport, TransportError } from "#client/transport.ts";
import { createPodGarbageCollector } from "#controllers/pod-garbage-collector.ts";
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

  for (const seed of SEEDS) {
    test(`node removed between filter and bind: its pods are collected, the others stay within what nodes have (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const race: Race = { before: undefined };
      await using world = await startScheduling({
        seed,
        controllers: [createPodGarbageCollector(1_000)],
        wrap: (transport) => beforeBinding(transport, race),
      });
      for (const name of ["a", "b", "c", "d"]) await world.node(name);
      const removed: string[] = [];
      race.before = async ({ body }) => {
        const { name = "" } = (body as { target?: { name?: string } }).target ?? {};
        if (removed.length >= 2 || removed.includes(name) || random.next() < 0.8) return;
        removed.push(name);
        await world.cluster.client.delete(nodeKind, { name });
      };
      for (let i = 0; i < 20; i++) await world.submit(`p${i}`, asks(`${200 + random.integer(4)}m`));
      await world.settle();
      assert.ok(removed.length > 0);
      await world.advance(3 * 60_000);
      const nodes = world.cluster.names(nodeKind);
      const pods = world.cluster.list(podKind);
      for (const { metadata, spec } of pods) {
        assert.ok(nodes.includes(spec.nodeName ?? ""), `${metadata.name} is on ${spec.nodeName}`);
      }
      await world.pod("after");
      assert.ok(nodes.includes(world.nodeOf("after") ?? ""));
      for (const name of nodes) assert.ok(cpuOn(world, name) <= CPU);
    });

    test(`pod deleted while binding: its room is given to another pod (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const race: Race = { before: undefined };
      await using world = await startScheduling({
        seed,
        wrap: (transport) => beforeBinding(transport, race),
      });
      await world.node("a");
      const deleted = new Set<string>();
      race.before = async ({ namespace, name = "" }) => {
        if (deleted.has(name) || (deleted.size > 0 && random.next() < 0.5)) return;
        deleted.add(name);
        await world.cluster.client.delete(podKind, { namespace, name }, { gracePeriodSeconds: 0 });
        // Another pod of that name is another pod.
        if (random.next() < 0.5) await world.submit(name, asks("2"));
      };
      for (let i = 0; i < 8; i++) {
        await world.submit(`p${i}`, asks("2"));
        await world.settle();
      }
      race.before = undefined;
      await world.advance(6 * 60_000);
      assert.ok(deleted.size > 0);
      assert.ok(cpuOn(world, "a") <= CPU);
      const bound = world.cluster.list(podKind).filter(({ spec }) => spec.nodeName === "a");
      const expected = Math.min(2, world.cluster.names(podKind).length);
      assert.equal(bound.length, expected, "all of the room is used");
    });

    test(`two schedulers: each pod is bound once and both come to rest (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const bindings = new Map<string, number>();
      const count = (transport: Transport): Transport => ({
        ...transport,
        send: async (call, signal) => {
          const result = await transport.send(call, signal);
          if (call.subresource === "binding" && result.ok) {
            bindings.set(call.name ?? "", (bindings.get(call.name ?? "") ?? 0) + 1);
          }
          return result;
        },
      });
      await using world = await startScheduling({ seed, wrap: count });
      await using other = await world.another(count);
      for (const name of ["a", "b", "c"]) await world.node(name);
      for (let i = 0; i < 30; i++) {
        await world.submit(`p${i}`);
        if (random.next() < 0.2) await world.cluster.clock.advance(random.integer(500));
      }
      await world.settle();
      await other.settle();
      await world.advance(15_000);
      await other.settle();
      const bound = world.cluster.list(podKind).filter(({ spec }) => spec.nodeName !== undefined);
      assert.equal(bound.length, 30);
      assert.deepEqual([...new Set(bindings.values())], [1]);
      assert.equal(bindings.size, 30);
    });
  }
});

interface Race {
  /** Called before a binding reaches the API server. */
  before: ((call: Call) => Promise<void>) | undefined;
}

function beforeBinding(transport: Transport, race: Race): Transport {
  return {
    ...transport,
    send: async (call, signal) => {
      if (call.subresource === "binding") await race.before?.(call);
      return transport.send(call, signal);
    },
  };
}

function asks(cpu: string) {
  return { containers: [{ name: "c", image: "x", resources: { requests: { cpu } } }] };
}
