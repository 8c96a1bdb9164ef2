/**
 * A whole cluster inside a test: the real API server on a memory store, with RBAC and admission, every
 * controller, the scheduler and simulated nodes, and a virtual clock.
 *
 *     await using cluster = await startCluster({ nodes: 3 });
 *     await cluster.apply(deploymentYaml);
 *     await cluster.advance("24h");
 *     assert.equal(cluster.list(podKind).length, 3);
 *
 * Promises:
 * 1. `apply`, `seed`, `edit`, `advance` and `settle` return when everything that follows has happened.
 * 2. Clusters share nothing: any number can run in one process.
 * 3. With the virtual clock nothing depends on how fast the machine is.
 * 4. Disposing of a cluster ends everything that it started.
 */
import { setMaxListeners } from "node:events";
import { loadAll } from "js-yaml";
import type { Draft as DeepDraft, Kind, KindOf, KubeObject } from "#api/kind.ts";
import { parseDuration } from "#api/meta/duration.ts";
import type { User } from "#apiserver/request/request.ts";
import type { ApiServer } from "#apiserver/server.ts";
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { inProcessTransport } from "#cmd/in-process/in-process-transport.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { seededRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { VirtualClock } from "#lib/time/virtual-clock.ts";
import type { Controller } from "#runtime/controller.ts";
import { DEFAULT_HISTORY } from "#store/local/auto-compaction.ts";
import { createMemoryStore, type MemoryStore } from "#store/memory.ts";
import type { Draft } from "./build.ts";
import { ClusterComponents, COMPONENTS, type ComponentName } from "./cluster-components.ts";
import { Faults } from "./faults.ts";
import { type HttpsAccess, openHttpsAccess } from "./https-access.ts";
import { NodeAccess } from "./node-access.ts";
import { type LogOptions, readLogs } from "./read-logs.ts";
import { editObject, getObject, NAMESPACE, seedObject, unwrap } from "./server-objects.ts";
import { startMemoryServer } from "./start-memory-server.ts";

export type { Draft } from "./build.ts";
export type { ComponentName } from "./cluster-components.ts";
export type { Faults } from "./faults.ts";
export type { LogOptions } from "./read-logs.ts";

const ADMIN: User = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
const HEARTBEAT = "10s";
/** Components that write for ever never settle: a test must say so instead of hanging. */
const SETTLE_ROUNDS_MAX = 10_000;
const REAL_PAUSE_MS = 2;
const REAL_QUIET_ROUNDS = 5;
const UNTIL_STEP_MS = 1_000;
const BOOKMARK_EVERY_MS = 30 * 86_400_000;
/** Past revisions go by their size; a store that looks for old ones every minute would be slow. */
const HISTORY_MS = 365 * 86_400_000;

export interface ClusterOptions {
  /** The time at the start, in RFC 3339. */
  readonly at?: string;
  readonly seed?: number;
  /** `real`: time passes by itself, and `advance` cannot be used. */
  readonly clock?: "virtual" | "real";
  /** Simulated nodes; one unless given. */
  readonly nodes?: number;
  /** What nodes look like and what pods do, as in a file of `k8ts simulate --config`. */
  readonly simulation?: object;
  /** Controllers of your own. */
  // biome-ignore lint/suspicious/noExplicitAny: controllers of different states run together
  readonly controllers?: readonly Controller<any, any>[];
  /** YAML that is applied before the controllers start: the definitions of their custom resources. */
  readonly manifests?: string;
  /** Whether the built-in controllers, the scheduler and nodes run, too. They do unless it is false. */
  readonly builtIn?: boolean;
  /**
   * How often nodes renew their Leases; after five missing ones a node is lost. 10 s unless given. A
   * longer time makes `advance` over months faster.
   */
  readonly heartbeat?: string;
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const clock =
    options.clock === "real" ? systemClock : new VirtualClock(options.at ?? "2030-01-01T00:00:00Z");
  const history = { ...DEFAULT_HISTORY, ageMs: HISTORY_MS };
  return startOn(createMemoryStore({ clock, history }), clock, options);
}

async function startOn(
  store: MemoryStore,
  clock: Clock,
  options: ClusterOptions,
): Promise<Cluster> {
  const random = seededRandom(options.seed ?? 1);
  const life = new AbortController();
  setMaxListeners(0, life.signal); // every part of the cluster listens
  // Bookmarks of some eighty watches every minute would be most of what happens in a year.
  const bookmarkEveryMs = clock instanceof VirtualClock ? BOOKMARK_EVERY_MS : undefined;
  const nodeAccess = new NodeAccess();
  const server = await startMemoryServer(
    {
      store,
      clock,
      random,
      nodeAccess,
      secured: true,
      ...(bookmarkEveryMs && { bookmarkEveryMs }),
    },
    life.signal,
  );
  const faults = new Faults();
  const transport = inProcessTransport(server.handle, ADMIN, "k8ts-test");
  const client = new Client({ transport, clock, random, fieldManager: "k8ts-test" });
  const builtIn = options.builtIn !== false;
  const components = new ClusterComponents({
    transportAs: (user, agent) =>
      faults.between(inProcessTransport(server.handle, user, agent), clock),
    ...{ clock, random, nodeAccess, builtIn, controllers: options.controllers ?? [] },
    nodes: options.nodes ?? 1,
    simulation: options.simulation ?? {},
    heartbeatMs: durationMs(options.heartbeat ?? HEARTBEAT),
  });
  const parts = { options, store, clock, server, transport, client, faults, components, life };
  const cluster = new Cluster(parts);
  if (options.manifests !== undefined) await cluster.apply(options.manifests);
  const names = COMPONENTS.filter((name) => builtIn || name === "controller-manager");
  const started = names.map((name) => components.start(name));
  await Promise.race([
    Promise.all(started.map(({ ready }) => ready)),
    Promise.all(started.map(({ done }) => done)), // one that fails
  ]);
  await cluster.settle();
  return cluster;
}

interface Parts {
  readonly options: ClusterOptions;
  readonly store: MemoryStore;
  readonly clock: Clock;
  readonly server: ApiServer;
  readonly transport: Transport;
  readonly client: Client;
  readonly faults: Faults;
  readonly components: ClusterComponents;
  readonly life: AbortController;
}

export class Cluster implements AsyncDisposable {
  /** For clients that a test makes itself. */
  readonly transport: Transport;
  /** An administrator's client, through authorization and admission. */
  readonly client: Client;
  /** Between the components and the API server. */
  readonly faults: Faults;
  readonly #parts: Parts;
  #https: Promise<HttpsAccess> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.transport = parts.transport;
    this.client = parts.client;
    this.faults = parts.faults;
  }

  get clock(): Clock {
    return this.#parts.clock;
  }

  nowMs(): number {
    return this.#parts.clock.nowMs();
  }

  /** The kubeconfig of an administrator. The cluster listens on loopback from the first call on. */
  async kubeconfig(): Promise<string> {
    this.#https ??= openHttpsAccess(this.#parts.server);
    return (await this.#https).kubeconfig;
  }

  /** Applies every document of the text on the server's side, then settles. */
  async apply(yaml: string): Promise<readonly KubeObject[]> {
    const applied: KubeObject[] = [];
    for (const document of loadAll(yaml)) {
      if (document === null || document === undefined) continue;
      applied.push(await this.#applyOne(document as KubeObject));
    }
    await this.settle();
    return applied;
  }

  async #applyOne(object: KubeObject): Promise<KubeObject> {
    const { apiVersion = "", kind: kindName = "", metadata } = object;
    const kind = await this.#findKind(apiVersion, kindName);
    const namespace = kind.scope === "Namespaced" ? (metadata.namespace ?? NAMESPACE) : undefined;
    const key = { namespace, name: metadata.name ?? "" };
    return unwrap(await this.client.patch(kind, key, "apply", object, { force: true }));
  }

  /** A definition that was just applied is served a moment later. */
  async #findKind(apiVersion: string, kindName: string): Promise<Kind> {
    const { resources } = this.#parts.server;
    if (resources.findKind(apiVersion, kindName) === undefined) await this.settle();
    const kind = resources.findKind(apiVersion, kindName);
    if (kind === undefined) throw new Error(`there is no kind ${kindName} in ${apiVersion}`);
    return kind;
  }

  /** Writes the object as it is, with defaults, status and all. */
  async seed<T extends KubeObject>(kind: KindOf<T>, draft: Draft<T>): Promise<T> {
    const created = await seedObject(this.#parts.server, kind, draft);
    await this.settle();
    return created;
  }

  /** Changes the object as it is in the store, status included. */
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

  /** Of one namespace, or of all. */
  list<T extends KubeObject>(kind: KindOf<T>, namespace?: string): readonly T[] {
    return [...this.#parts.server.objects.list(kind, namespace)];
  }

  names<T extends KubeObject>(kind: KindOf<T>, namespace?: string): readonly string[] {
    return this.list(kind, namespace).map(({ metadata }) => metadata.name ?? "");
  }

  /** What `kubectl logs` prints: the lines that a simulated pod's behaviour has (`sim.k8ts.io/logs`). */
  async logs(pod: string, options: LogOptions = {}): Promise<string> {
    const { namespace = NAMESPACE, ...wanted } = options;
    return unwrap(await readLogs(this.#parts.server.handle, ADMIN, { namespace, pod, ...wanted }));
  }

  /** Moves time (`"24h"` or milliseconds) and waits until everything that follows has happened. */
  async advance(duration: string | number): Promise<void> {
    await this.#virtualClock().advance(durationMs(duration));
    await this.settle();
  }

  /** Moves time in steps of a second until the condition holds; fails after `within`. */
  async until(condition: () => boolean, within: string | number = "1h"): Promise<void> {
    const endMs = this.nowMs() + durationMs(within);
    await this.settle();
    while (!condition()) {
      if (this.nowMs() >= endMs) throw new Error(`the condition did not hold within ${within}`);
      if (this.clock instanceof VirtualClock) await this.advance(UNTIL_STEP_MS);
      else await this.clock.sleep(REAL_PAUSE_MS * REAL_QUIET_ROUNDS);
    }
  }

  /** Waits until the components have nothing left to do now. */
  async settle(): Promise<void> {
    const { clock, components } = this.#parts;
    if (!(clock instanceof VirtualClock)) return this.#settleInRealTime();
    await clock.advance(0);
    for (let rounds = 0; components.busy > 0; rounds++) {
      if (rounds > SETTLE_ROUNDS_MAX) throw new Error(`no end of it: ${this.#lastDecisions()}`);
      await clock.advance(0);
    }
  }

  async #settleInRealTime(): Promise<void> {
    const { clock, components } = this.#parts;
    for (let quiet = 0; quiet < REAL_QUIET_ROUNDS; quiet++) {
      await nextTurn();
      await clock.sleep(REAL_PAUSE_MS);
      if (components.busy > 0) quiet = -1;
    }
  }

  /** A second cluster with the same objects and the same time, which from now on goes its own way. */
  async fork(): Promise<Cluster> {
    const { store, options } = this.#parts;
    const clock = new VirtualClock(this.#virtualClock().nowMs());
    return startOn(store.fork({ clock }), clock, options);
  }

  /** Ends a component as a crash does; it stays away until `restart`. */
  async crash(component: ComponentName): Promise<void> {
    await this.#parts.components.stop(component);
  }

  async restart(component: ComponentName): Promise<void> {
    await this.crash(component);
    await this.#parts.components.start(component).ready;
    await this.settle();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { components, life, server } = this.#parts;
    const https = await this.#https;
    await components.stopAll();
    server.shutDown();
    await https?.[Symbol.asyncDispose]();
    life.abort();
    await server.done;
  }

  #virtualClock(): VirtualClock {
    const { clock } = this.#parts;
    if (clock instanceof VirtualClock) return clock;
    throw new Error("time passes by itself in a cluster with the real clock");
  }

  #lastDecisions(): string {
    const last = this.#parts.components.runtime?.decisions.about().slice(-3) ?? [];
    return last
      .map(({ controller, key, refused }) => {
        return `${controller} ${key.name} ${refused?.why ?? ""}`;
      })
      .join("; ");
  }
}

function durationMs(duration: string | number): number {
  if (typeof duration === "number") return duration;
  const parsed = parseDuration(duration);
  if (!parsed.ok) throw new Error(parsed.error);
  return Number(parsed.nanos / 1_000_000n);
}
