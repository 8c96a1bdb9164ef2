/**
 * The one loop that all controllers share: informers fill queues, workers observe, decide and
 * execute. Controllers that run together share their informers, and the time that they may work
 * before other parts of the process have their turn.
 */
import type { KubeObject } from "#api/kind.ts";
import { type Cache, keyOf } from "#client/cache.ts";
import type { Client, Typed } from "#client/client.ts";
import type { EventRecorder } from "#client/event-recorder.ts";
import type { Informer } from "#client/informer.ts";
import { QueueMetrics } from "#client/queue-metrics.ts";
import { informerOf, SharedInformers } from "#client/shared-informers.ts";
import type { ResourceRef } from "#client/transport.ts";
import { WorkQueue } from "#client/work-queue.ts";
import { onAbort, signalForMany, untilAborted } from "#lib/async/aborted.ts";
import { deferred } from "#lib/async/deferred.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import { lazy } from "#lib/lazy.ts";
import type { Logger } from "#lib/logger.ts";
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type {
  Caches,
  Change,
  Controller,
  EventNote,
  Feed,
  IndexSpec,
  Key,
  Moment,
  Outcome,
  Reconciled,
  RefusalOutcome,
  RefusedWrite,
} from "./controller.ts";
import { DecisionLog, recordOf } from "./decision-record.ts";
import { type Execution, execute } from "./executor.ts";

const WORKERS = 5;
/** So long controllers wait for the objects of a resource that came. */
const SYNC_WITHIN_MS = 30_000;

export interface RuntimeOptions {
  /** For informers, and for controllers that have none of their own. */
  readonly client: Client;
  /** What a controller writes and reads with: its own identity, where it has one. */
  clientFor?(controller: string): Client;
  /** What metrics call a controller's queue; its name unless given. */
  queueName?(controller: string): string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly recorder: EventRecorder;
  /** Reduces the objects of the caches, as `transform` of an informer. */
  readonly transform?: (object: KubeObject) => KubeObject;
}

// biome-ignore lint/suspicious/noExplicitAny: the state of a controller is its own affair
type AnyController = Controller<any, any>;

/** What the workers of a controller share. */
interface Loop {
  readonly controller: AnyController;
  readonly queue: WorkQueue<Key>;
  readonly memory: Map<string, unknown>;
  readonly caches: Caches;
  readonly measured: ((reconciled: Reconciled<unknown>) => void) | undefined;
  /** What of discovered resources is being loaded. */
  readonly syncing: ReadonlySet<Promise<void>>;
}

/** What the feeds of a controller share. */
interface Feeding {
  readonly queue: WorkQueue<Key>;
  readonly caches: Caches;
  /** Informers that it holds. */
  readonly released: Set<Promise<void>>;
  readonly syncing: Set<Promise<void>>;
}

export class Runtime {
  readonly decisions = new DecisionLog();
  readonly #options: RuntimeOptions;
  readonly #informers: SharedInformers;
  readonly #queues: WorkQueue<Key>[] = [];
  readonly #slice: TimeSlice;
  readonly #queueMetrics: QueueMetrics;
  readonly #reconciles: (controller: string, result: string) => Counter;
  readonly #seconds: (controller: string) => Histogram;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.#slice = new TimeSlice(options.clock);
    this.#informers = new SharedInformers({ ...options, slice: this.#slice });
    this.#queueMetrics = new QueueMetrics(options.metrics, options.clock);
    this.#reconciles = options.metrics.counter({
      name: "k8ts_controller_reconciles_total",
      help: "Reconciles by controller and result.",
      labels: ["controller", "result"],
    });
    this.#seconds = options.metrics.histogram({
      name: "k8ts_controller_reconcile_seconds",
      help: "Time from taking a key to having carried its writes out.",
      labels: ["controller"],
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    });
  }

  /** Keys that wait for a worker or have one; zero means that the controllers have converged. */
  get busy(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.busy, 0);
  }

  cache<T extends KubeObject>(kind: Typed<T>): Cache<T> {
    return this.#informers.informer(kind).cache;
  }

  /** Calls the listener for every change of a kind until the signal aborts; its informer runs so long. */
  onChange<T extends KubeObject>(
    kind: Typed<T>,
    listener: (change: Change<T>) => void,
    signal: AbortSignal,
  ): void {
    this.#informers.hold(kind, {}, signal).informer.on(listener, signal);
  }

  /**
   * Runs the controllers until the signal aborts. It may be called again for controllers that come
   * later (of kinds that did not exist before); they share the informers that are there.
   */
  async run(controllers: readonly AnyController[], until: AbortSignal): Promise<void> {
    const signal = signalForMany(until);
    const loops: (() => Promise<void>)[] = [];
    for (const controller of controllers) {
      loops.push(this.#prepare(controller, signal));
      const over = this.#slice.over();
      if (over !== undefined) await over;
    }
    await Promise.all(loops.map((loop) => loop()));
  }

  #prepare(controller: AnyController, signal: AbortSignal): () => Promise<void> {
    const { clock, random } = this.#options;
    const queue = new WorkQueue<Key>(clock, random, idOfKey);
    const memory = new Map<string, unknown>();
    this.#queues.push(queue);
    const called = this.#options.queueName?.(controller.name) ?? controller.name;
    queue.observe(this.#queueMetrics.observe(called, queue));
    const caches = this.#cachesFor(controller.name);
    this.#addIndexes(controller.indexes ?? []);
    const feeding: Feeding = { queue, caches, released: new Set(), syncing: new Set() };
    for (const feed of controller.feeds) this.#attach(feed, feeding, signal);
    const { discovered } = controller;
    discovered?.resources.follow((resource, until) => {
      const feed = discovered.feed(resource);
      if (feed === undefined) return;
      this.#addIndexes(discovered.indexes?.(resource) ?? []);
      this.#attach(feed, feeding, until);
      settled(this.#loaded(feed, feeding, until), feeding.syncing);
    }, signal);
    onAbort(signal, () => queue.close());
    return async () => {
      await this.#allSynced(controller, signal);
      // A shared informer may have been running before this controller listened.
      const addAll = async (): Promise<void> => {
        for (const feed of controller.feeds) await this.#addAll(feed, feeding);
      };
      await addAll();
      repeat(controller.resyncMs, addAll, clock, signal);
      const measured = controller.measure?.(this.#options.metrics, caches);
      const { syncing } = feeding;
      const loop: Loop = { controller, queue, memory, caches, measured, syncing };
      const workers = Array.from({ length: controller.workers ?? WORKERS }, () =>
        this.#work(loop, signal),
      );
      await Promise.all(workers);
      await Promise.all(feeding.released);
    };
  }

  #addIndexes(indexes: readonly IndexSpec[]): void {
    for (const { kind, name, values } of indexes) this.cache(kind).addIndex(name, values);
  }

  /** Changes of the feed's objects are queued until the signal aborts. */
  #attach(
    { kind, keys, keysOfChange, delayMs = 0 }: Feed,
    { queue, caches, released }: Feeding,
    until: AbortSignal,
  ): void {
    const add = (key: Key): void => (delayMs > 0 ? queue.addAfter(key, delayMs) : queue.add(key));
    const hold = this.#informers.hold(kind, {}, until);
    settled(hold.released, released);
    hold.informer.on((change) => {
      const { next, old } = change;
      if (keysOfChange !== undefined) {
        keysOfChange(change, caches).forEach(add);
        return;
      }
      if (next !== undefined) keys(next, caches).forEach(add);
      if (old !== undefined && old !== next) keys(old, caches).forEach(add);
    }, until);
  }

  async #addAll({ kind, keys }: Feed, { queue, caches }: Feeding): Promise<void> {
    for (const object of this.cache(kind).list()) {
      for (const key of keys(object, caches)) queue.add(key);
      const over = this.#slice.over();
      if (over !== undefined) await over;
    }
  }

  /** Resolves when the objects of a resource that came are there and queued, or it went, or is late. */
  async #loaded(feed: Feed, feeding: Feeding, until: AbortSignal): Promise<void> {
    const { synced } = this.#informers.informer(feed.kind);
    const over = deferred<void>();
    onAbort(until, over.resolve);
    const late = this.#options.clock.schedule(SYNC_WITHIN_MS, over.resolve);
    await Promise.race([synced, over.promise]);
    late.cancel();
    if (!until.aborted) await this.#addAll(feed, feeding);
  }

  /** Asked many times for each change of an object, so it remembers by the kind itself. */
  #cachesFor(controller: string): Caches {
    const known = new WeakMap<object, Informer<KubeObject>>();
    return <T extends KubeObject>(kind: Typed<T>) => {
      let informer = known.get(kind);
      if (informer === undefined) {
        informer = this.#informers.find<KubeObject>(kind);
        if (informer === undefined) {
          throw new Error(`${controller} reads ${idOf(kind)}, which is not among its feeds`);
        }
        known.set(kind, informer);
      }
      return informerOf(kind, informer).cache;
    };
  }

  async #work(loop: Loop, signal: AbortSignal): Promise<void> {
    const { controller, queue } = loop;
    // A series is looked up by the text of its labels: too much for every reconcile.
    const counters = new Map<string, Counter>();
    const count = (result: string): Counter => {
      let counter = counters.get(result);
      if (counter === undefined) {
        counter = this.#reconciles(controller.name, result);
        counters.set(result, counter);
      }
      return counter;
    };
    const seconds = lazy(() => this.#seconds(controller.name));
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      while (loop.syncing.size > 0 && !signal.aborted) await Promise.all(loop.syncing);
      const startMs = this.#options.clock.elapsedMs();
      const result = await this.#reconcile(loop, key, signal);
      count(result).add(1);
      seconds().observe((this.#options.clock.elapsedMs() - startMs) / 1000);
      queue.done(key);
      const over = this.#slice.over();
      if (over !== undefined) await over;
    }
  }

  async #reconcile(
    { controller, queue, memory, caches, measured }: Loop,
    key: Key,
    signal: AbortSignal,
  ): Promise<"success" | "requeue" | "error"> {
    const { clock, logger } = this.#options;
    const startMs = clock.elapsedMs();
    let outcome: Outcome<unknown> = {};
    let state: unknown;
    const decided = { controller: controller.name, rule: controller.rule, key };
    try {
      const id = idOfKey(key);
      const reader = this.#clientFor(controller);
      const elapsedMs = (): number => clock.elapsedMs();
      const sleep: Moment["sleep"] = (delayMs, until) => clock.sleep(delayMs, until);
      const moment: Moment = { nowMs: clock.nowMs(), elapsedMs, sleep, signal };
      const observed = controller.observe(caches, key, reader, memory.get(id), moment);
      state = observed instanceof Promise ? await observed : observed;
      const decidedMs = clock.nowMs();
      outcome = controller.decide(state, decidedMs);
      if (state === undefined)
        memory.delete(id); // nothing is there to remember anything of
      else if ("remember" in outcome) {
        if (outcome.remember === undefined) memory.delete(id);
        else memory.set(id, outcome.remember);
      }
      const nowMs = clock.nowMs();
      const onRefused = (refusal: RefusedWrite): RefusalOutcome =>
        controller.decideRefused?.(state, refusal, decidedMs) ?? {};
      const decision = { outcome, onRefused };
      const { done, refused } = await this.#carryOut(decision, controller, signal);
      const seconds = (clock.elapsedMs() - startMs) / 1000;
      measured?.({ key, state, outcome, refused, done, nowMs, seconds });
      if (hasEffect(outcome)) {
        this.decisions.add(recordOf({ ...decided, atMs: nowMs, state, outcome, done, refused }));
      }
      if (refused !== undefined) {
        const retryMs = queue.retry(key);
        // Conflicts are normal; a write that is forbidden is logged as a warning, once.
        const isWarning = refused.status.reason === "Forbidden" && queue.failures(key) === 1;
        const log = isWarning ? logger.warn : logger.debug;
        log("write refused", {
          controller: controller.name,
          ...key,
          retryMs,
          status: refused.status.message,
        });
        return "requeue";
      }
      queue.forget(key);
      if (outcome.recheckInMs !== undefined) queue.addAfter(key, outcome.recheckInMs);
      return "success";
    } catch (error) {
      if (signal.aborted) return "error";
      const atMs = clock.nowMs();
      const failed = { ...decided, atMs, state, outcome, done: 0, refused: undefined, error };
      this.decisions.add(recordOf(failed));
      const retryMs = queue.retry(key);
      logger.warn("reconcile failed", { controller: controller.name, ...key, retryMs, error });
      return "error";
    }
  }

  async #carryOut(
    { outcome, onRefused }: Decision,
    controller: AnyController,
    signal: AbortSignal,
  ): Promise<Execution> {
    const { clock, recorder } = this.#options;
    const client = this.#clientFor(controller);
    const find = (kind: ResourceRef): Cache<KubeObject> | undefined =>
      this.#informers.find<KubeObject>(kind)?.cache;
    const note = (event: EventNote): void =>
      recorder.record(controller.component ?? controller.name, event);
    outcome.events?.forEach(note);
    if (outcome.writes === undefined) return { done: 0, refused: undefined };
    const execution = await execute(outcome.writes, client, find, note, clock, signal);
    if (execution.refused !== undefined) {
      const { writes = [], events = [] } = onRefused(execution.refused);
      events.forEach(note);
      await execute(writes, client, find, note, clock, signal);
    }
    return execution;
  }

  #clientFor({ name }: AnyController): Client {
    return this.#options.clientFor?.(name) ?? this.#options.client;
  }

  async #allSynced(controller: AnyController, signal: AbortSignal): Promise<void> {
    const synced = controller.feeds.map(({ kind }) => this.#informers.informer(kind).synced);
    await Promise.race([Promise.all(synced), untilAborted(signal)]);
  }
}

/** An outcome, and what its controller decides if the server refuses one of the writes. */
interface Decision {
  readonly outcome: Outcome<unknown>;
  onRefused(refused: RefusedWrite): RefusalOutcome;
}

/** Is in the set until it is settled. */
function settled(work: Promise<void>, pending: Set<Promise<void>>): void {
  pending.add(work);
  void work.finally(() => pending.delete(work));
}

/** Until the signal aborts; never, without a time. */
function repeat(
  everyMs: number | undefined,
  task: () => Promise<void>,
  clock: Clock,
  signal: AbortSignal,
): void {
  if (everyMs === undefined || signal.aborted) return;
  const timer = clock.schedule(everyMs, () => {
    signal.removeEventListener("abort", cancel);
    void task();
    repeat(everyMs, task, clock, signal);
  });
  const cancel = (): void => timer.cancel();
  signal.addEventListener("abort", cancel, { once: true });
}

function idOfKey({ resource, namespace, name }: Key): string {
  return `${resource ?? ""} ${keyOf(namespace, name)}`;
}

function idOf({ apiVersion, names }: ResourceRef): string {
  return `${apiVersion}/${names.plural}`;
}

function hasEffect({ writes = [], events = [], because }: Outcome<unknown>): boolean {
  return writes.length > 0 || events.length > 0 || because !== undefined;
}
