/**
 * Seeded simulation on virtual time: the API server ends and starts again over the same store while
 * the scheduler works. No pod is forgotten or bound twice, no node gets more than it has.
 */
import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { User } from "#apiserver/request/request.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { Client } from "#client/client.ts";
import { type Transport, TransportError } from "#client/transport.ts";
import { inProcessTransport } from "#cmd/in-process/in-process-transport.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import { createMemoryStore } from "#store/memory.ts";
import { completed } from "#testing/build.ts";
import { startMemoryServer } from "#testing/start-memory-server.ts";
import { DEFAULT_CONFIG } from "./config/scheduler-config.ts";
import { startScheduler } from "./create-scheduler.ts";

const ADMIN: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const PODS = 24;
/** Three nodes with room for ten pods each. */
const NODES = ["a", "b", "c"];
const FITTING = 10;

class RestartingServer implements AsyncDisposable {
  readonly #clock: VirtualClock;
  readonly #store;
  readonly #random = seededRandom(1);
  #life = new AbortController();
  #server: ApiServer | undefined;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.#store = createMemoryStore({ clock });
  }

  get server(): ApiServer {
    if (this.#server === undefined) throw new TransportError("connection refused");
    return this.#server;
  }

  /** Requests fail and watches break while the server is away. */
  transport(): Transport {
    const target = (): Transport => inProcessTransport(this.server.handle, ADMIN, "test");
    const life = (): AbortSignal => this.#life.signal;
    return {
      send: async (call, signal) => {
        const begun = life();
        const result = await target().send(call, signal);
        if (begun.aborted) throw new TransportError("the answer was lost");
        return result;
      },
      raw: (path, signal) => target().raw(path, signal),
      async *watch(call, signal) {
        const begun = life();
        yield* target().watch(call, AbortSignal.any([signal, begun]));
        if (begun.aborted) throw new TransportError("connection reset");
      },
    };
  }

  async start(): Promise<void> {
    this.#life = new AbortController();
    const parts = { store: this.#store, clock: this.#clock, random: this.#random };
    this.#server = await startMemoryServer({ ...parts, secured: false }, this.#life.signal);
  }

  async stop(): Promise<void> {
    const { done } = this.server;
    this.#server = undefined;
    this.#life.abort();
    await done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server !== undefined) await this.stop();
  }
}

describe("API server restarted while the scheduler works", () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`every pod is bound once, no node gets more than it has (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const clock = new VirtualClock("2030-01-01T00:00:00Z");
      await using server = new RestartingServer(clock);
      await server.start();
      const client = new Client({
        ...{ transport: server.transport(), clock, random: seededRandom(2) },
        fieldManager: "test",
      });
      const life = new AbortController();
      const scheduler = startScheduler(
        {
          ...{ client, clock, random: seededRandom(3), metrics: new Metrics() },
          ...{ logger: silentLogger, hostname: "test", config: DEFAULT_CONFIG },
        },
        life.signal,
      );
      const capacity = { cpu: "4", memory: "8Gi", pods: String(FITTING) };
      for (const name of NODES) {
        const node = { metadata: { name }, status: { capacity, allocatable: capacity } };
        await server.server.objects.create(nodeKind, completed(nodeKind, node) as never);
      }
      for (let i = 0; i < PODS; i++) {
        await server.server.objects.create(podKind, pendingPod(`p${i}`));
        const turns = random.integer(4);
        for (let turn = 0; turn < turns; turn++) await clock.advance(0);
        if (random.next() < 0.25) {
          await server.stop();
          await clock.advance(random.integer(5_000));
          await server.start();
        }
      }
      await clock.advance(6 * 60_000);
      const pods = [...server.server.objects.list(podKind)];
      assert.equal(pods.length, PODS);
      for (const { metadata, spec } of pods) {
        assert.ok(NODES.includes(spec.nodeName ?? ""), `${metadata.name} has no node`);
      }
      for (const name of NODES) {
        const count = pods.filter(({ spec }) => spec.nodeName === name).length;
        assert.ok(count <= FITTING, `${name} has ${count} pods`);
      }
      life.abort();
      await scheduler.done;
    });
  }
});

function pendingPod(name: string): Pod {
  const pod = completed(podKind, {
    metadata: { name, namespace: "default", uid: `uid-${name}` },
    spec: { schedulerName: "default-scheduler", containers: [{ name: "c", image: "x" }] },
  });
  podKind.defaults?.(pod);
  return pod as Pod;
}
