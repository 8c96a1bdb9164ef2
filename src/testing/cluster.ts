/**
 * A whole cluster inside a test: the real API server on the memory store, the controllers that the
 * test names, and a virtual clock.
 *
 *     await using cluster = await startCluster({ at: "2030-01-01T00:00:00Z", controllers: [deployment] });
 *     await cluster.seed(jobKind, { metadata: { name: "report" }, status: { … } });
 *     await cluster.advance(60_000);
 *     assert.deepEqual(cluster.names(jobKind), []);
 *
 * `seed` and `edit` write straight to the store, status included; `client` goes through the API.
 */
import { setMaxListeners } from "node:events";
import type { Draft as DeepDraft, KindOf, KubeObject } from "#api/kind.ts";
import type { KindRegistry } from "#apiserver/registry/kind-registry.ts";
import type { User } from "#apiserver/request/request.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { Client } from "#client/client.ts";
import { type EventRecorder, type Note, referenceTo } from "#client/event-recorder.ts";
import type { Transport } from "#client/transport.ts";
import { inProcessClients } from "#cmd/in-process/in-process-clients.ts";
import { inProcessTransport } from "#cmd/in-process/in-process-transport.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { Controller } from "#runtime/controller.ts";
import { Runtime } from "#runtime/run.ts";
import { createMemoryStore } from "#store/memory.ts";
import type { Draft } from "./build.ts";
import { notingRefusals } from "./secured.ts";
import { editObject, getObject, NAMESPACE, seedObject } from "./server-objects.ts";
import { startMemoryServer } from "./start-memory-server.ts";

export type { Draft } from "./build.ts";

const ADMIN: User = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
/** Controllers that write for ever never settle: a test must say so instead of hanging. */
const SETTLE_ROUNDS_MAX = 1_000;

export interface ClusterOptions {
  /** An RFC 3339 time. */
  readonly at?: string;
  /** For parts outside the cluster that share its time; then `at` is not used. */
  readonly clock?: VirtualClock;
  // biome-ignore lint/suspicious/noExplicitAny: controllers of different states run together
  readonly controllers?: readonly Controller<any, any>[];
  readonly seed?: number;
  /**
   * RBAC and Node authorization, the default admission plug-ins, everything that a fresh cluster has,
   * and each controller under its own account, as in `k8ts up`.
   */
  readonly secured?: boolean;
}

export interface RecordedEvent extends Omit<Note, "about"> {
  readonly component: string;
  readonly name: string;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const clock = options.clock ?? new VirtualClock(options.at ?? "2030-01-01T00:00:00Z");
  const random = seededRandom(options.seed ?? 1);
  const life = new AbortController();
  setMaxListeners(0, life.signal); // every part of the cluster listens
  const store = createMemoryStore({ clock });
  const secured = options.secured === true;
  const server = await startMemoryServer({ store, clock, random, secured }, life.signal);
  const events: RecordedEvent[] = [];
  const recorder: EventRecorder = {
    record: (component, { about, ...note }) =>
      void events.push({ component, name: referenceTo(about).name ?? "", ...note }),
  };
  const transport = inProcessTransport(server.handle, ADMIN, "k8ts-test");
  const client = new Client({ transport, clock, random, fieldManager: "kube-controller-manager" });
  const refusals: string[] = [];
  const clients = inProcessClients({
    transportAs: (user, agent) =>
      notingRefusals(inProcessTransport(server.handle, user, agent), user, refusals),
    clock,
    random,
  });
  const metrics = new Metrics();
  const runtime = new Runtime({
    ...(secured ? clients : { client }),
    clock,
    random,
    logger: silentLogger,
    metrics,
    recorder,
  });
  const running = runtime.run(options.controllers ?? [], life.signal);
  const cluster = new Cluster({
    clock,
    server,
    transport,
    client,
    runtime,
    metrics,
    events,
    refusals,
    life,
    running,
  });
  await cluster.settle();
  return cluster;
}

interface Parts {
  readonly clock: VirtualClock;
  readonly transport: Transport;
  readonly server: ApiServer;
  readonly client: Client;
  readonly runtime: Runtime;
  readonly metrics: Metrics;
  readonly events: readonly RecordedEvent[];
  readonly refusals: readonly string[];
  readonly life: AbortController;
  readonly running: Promise<void>;
}

export class Cluster implements AsyncDisposable {
  readonly clock: VirtualClock;
  /** For clients that a test makes itself. */
  readonly transport: Transport;
  readonly client: Client;
  readonly runtime: Runtime;
  /** Of the controllers. */
  readonly metrics: Metrics;
  /** What the controllers recorded, in order. */
  readonly events: readonly RecordedEvent[];
  /** Where secured: what controllers asked for and may not do. */
  readonly refusals: readonly string[];
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.clock = parts.clock;
    this.transport = parts.transport;
    this.client = parts.client;
    this.runtime = parts.runtime;
    this.metrics = parts.metrics;
    this.events = parts.events;
    this.refusals = parts.refusals;
  }

  /** Calls the server as another user than the administrator. */
  transportAs(user: User, userAgent: string): Transport {
    return inProcessTransport(this.#parts.server.handle, user, userAgent);
  }

  /** The server's registry of kinds. */
  get kinds(): KindRegistry {
    return this.#parts.server.resources;
  }

  /** Writes the object as it is, with defaults, status and all. */
  async seed<T extends KubeObject>(kind: KindOf<T>, draft: Draft<T>): Promise<T> {
    const created = await seedObject(this.#parts.server, kind, draft);
    await this.settle();
    return created;
  }

  async edit<T extends KubeObject>(
    kind: KindOf<T>,
    name: string,
    change: (draft: DeepDraft<T>) => void,
    namespace = NAMESPACE,
  ): Promise<T> {
    const edited = await editObject(this.#parts.server, kind, { namespace, name }, change);
    await this.settle();
    return edited;
  }

  get<T extends KubeObject>(kind: KindOf<T>, name: string, namespace = NAMESPACE): T | undefined {
    return getObject(this.#parts.server, kind, { namespace, name });
  }

  list<T extends KubeObject>(kind: KindOf<T>, namespace?: string): readonly T[] {
    return [...this.#parts.server.objects.list(kind, namespace)];
  }

  names<T extends KubeObject>(kind: KindOf<T>, namespace?: string): readonly string[] {
    return this.list(kind, namespace).map(({ metadata }) => metadata.name ?? "");
  }

  /** Moves time and waits until everything that follows from it has happened. */
  async advance(durationMs: number): Promise<void> {
    await this.clock.advance(durationMs);
    await this.settle();
  }

  /** Waits until the controllers have nothing left to do now. */
  async settle(): Promise<void> {
    await this.clock.advance(0);
    for (let rounds = 0; this.runtime.busy > 0; rounds++) {
      if (rounds > SETTLE_ROUNDS_MAX) throw new Error(`no end of it: ${this.#lastDecisions()}`);
      await this.clock.advance(0);
    }
  }

  #lastDecisions(): string {
    const last = this.runtime.decisions.about().slice(-3);
    return last
      .map(({ controller, key, refused }) => `${controller} ${key.name} ${refused?.why ?? ""}`)
      .join("; ");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#parts.life.abort();
    await this.#parts.running;
    await this.#parts.server.done;
  }
}
