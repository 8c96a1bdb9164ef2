/** Metrics of work queues under upstream's names. */

import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";

/** From 10 ns to 10 s, each ten times the one before, with what multiplying does to their last digits. */
const SECONDS = [1e-8];
while (SECONDS.length < 10) SECONDS.push(SECONDS.at(-1)! * 10);
const LABELS = ["name"];

/** The metrics that one queue updates. */
export interface QueueObserver {
  readonly added: Counter;
  readonly retried: Counter;
  readonly waitedSeconds: Histogram;
  readonly workedSeconds: Histogram;
}

/** What can be seen of a queue at any time. */
export interface WatchedQueue {
  readonly size: number;
  /** When each of the keys that are being worked on was taken, of a Clock's `elapsedMs`. */
  runningSinceMs(): Iterable<number>;
}

export class QueueMetrics {
  readonly #queues = new Map<string, WatchedQueue[]>();
  readonly #observerOf: (name: string) => QueueObserver;

  constructor(metrics: Metrics, clock: Pick<Clock, "elapsedMs">) {
    const counter = (name: string, help: string) =>
      metrics.counter({ name: `workqueue_${name}`, help, labels: LABELS });
    const histogram = (name: string, help: string) =>
      metrics.histogram({ name: `workqueue_${name}`, help, labels: LABELS, buckets: SECONDS });
    const added = counter("adds_total", "Keys that were queued.");
    const retried = counter("retries_total", "Keys that were put off.");
    const waited = histogram("queue_duration_seconds", "Time that keys waited for a worker.");
    const worked = histogram("work_duration_seconds", "Time that keys were worked on.");
    this.#observerOf = (name) => ({
      added: added(name),
      retried: retried(name),
      waitedSeconds: waited(name),
      workedSeconds: worked(name),
    });
    const gauge = (
      name: string,
      help: string,
      read: (queues: readonly WatchedQueue[]) => number,
    ): void =>
      metrics.gaugesOf({ name: `workqueue_${name}`, help, labels: LABELS }, () =>
        [...this.#queues].map(([queue, all]) => ({ labels: [queue], value: read(all) })),
      );
    const ages = (queues: readonly WatchedQueue[]): number[] =>
      queues
        .flatMap((queue) => [...queue.runningSinceMs()])
        .map((sinceMs) => (clock.elapsedMs() - sinceMs) / 1000);
    gauge("depth", "Keys that wait for a worker.", (queues) =>
      queues.reduce((sum, { size }) => sum + size, 0),
    );
    gauge("unfinished_work_seconds", "Time spent on what is being worked on.", (queues) =>
      ages(queues).reduce((sum, age) => sum + age, 0),
    );
    gauge("longest_running_processor_seconds", "Time spent on the longest of it.", (queues) =>
      Math.max(0, ...ages(queues)),
    );
  }

  /** Queues of one name count together. */
  observe(name: string, queue: WatchedQueue): QueueObserver {
    const known = this.#queues.get(name);
    if (known === undefined) this.#queues.set(name, [queue]);
    else known.push(queue);
    return this.#observerOf(name);
  }
}
