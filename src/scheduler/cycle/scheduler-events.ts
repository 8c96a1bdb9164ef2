/**
 * Writes the scheduler's Events (`Scheduled`, `FailedScheduling`, `Preempted`) as events.k8s.io/v1.
 *
 * Promises:
 * 1. `record` never waits and never fails. At most 1,000 events wait to be written; when the server
 *    is slower than that, events are dropped.
 * 2. The same event again within six minutes makes a series: the second one is written, and later
 *    ones are counted and written every half hour.
 */
import type { ObjectReference, Pod } from "#api/generated/core.v1.ts";
import type { Event } from "#api/generated/events.v1.ts";
import { eventKind } from "#api/kinds/events/v1/event.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import type { Client } from "#client/client.ts";
import { BoundedQueue } from "#lib/collections/bounded-queue.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const QUEUE_MAX = 1_000;
const WRITERS = 8;
const SERIES_MAX = 4_096;
const SERIES_END_MS = 6 * 60_000;
const SERIES_WRITE_MS = 30 * 60_000;
const NOTE_LENGTH_MAX = 1_024;

export interface SchedulerEvent {
  readonly about: Pod;
  readonly related?: Pod;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly message: string;
  readonly schedulerName: string;
}

interface Series {
  readonly namespace: string;
  readonly name: string;
  count: number;
  lastMs: number;
  writtenMs: number;
}

type Write =
  | { readonly op: "create"; readonly event: Event }
  | { readonly op: "count"; readonly series: Series };

export interface SchedulerEventsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly hostname: string;
}

export class SchedulerEvents {
  readonly #options: SchedulerEventsOptions;
  readonly #queue = new BoundedQueue<Write>(QUEUE_MAX);
  readonly #series = new Map<string, Series>();
  #writing = 0;
  #count = 0n;

  constructor(options: SchedulerEventsOptions) {
    this.#options = options;
  }

  /** Events that are queued or being written. */
  get pending(): number {
    return this.#queue.size + this.#writing;
  }

  record(event: SchedulerEvent): void {
    const nowMs = this.#options.clock.nowMs();
    const { about, related, type, reason, action, schedulerName } = event;
    const uids = `${about.metadata.uid}|${related?.metadata.uid ?? ""}`;
    const key = `${uids}|${type}|${reason}|${action}|${schedulerName}`;
    const known = this.#series.get(key);
    if (known !== undefined && nowMs - known.lastMs <= SERIES_END_MS) {
      known.count += 1;
      known.lastMs = nowMs;
      if (known.count > 2 && nowMs - known.writtenMs < SERIES_WRITE_MS) return;
      known.writtenMs = nowMs;
      this.#queue.offer({ op: "count", series: known });
      return;
    }
    const created = this.#event(event, nowMs);
    const { namespace = "default", name = "" } = created.metadata;
    this.#series.delete(key);
    if (this.#series.size >= SERIES_MAX) this.#series.delete(this.#series.keys().next().value!);
    this.#series.set(key, { namespace, name, count: 1, lastMs: nowMs, writtenMs: nowMs });
    this.#queue.offer({ op: "create", event: created });
  }

  /** Writes events until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: WRITERS }, () => this.#writeAll(signal)));
  }

  async #writeAll(signal: AbortSignal): Promise<void> {
    for (;;) {
      const write = await this.#queue.take(signal).catch(() => undefined);
      if (write === undefined) return;
      this.#writing += 1;
      try {
        await this.#write(write, signal);
      } catch (error) {
        if (!signal.aborted) this.#options.logger.debug("an event could not be written", { error });
      } finally {
        this.#writing -= 1;
      }
    }
  }

  async #write(write: Write, signal: AbortSignal): Promise<void> {
    const { client, logger } = this.#options;
    const refused = (why: string | undefined): void =>
      logger.debug("an event was refused", { why });
    if (write.op === "create") {
      const result = await client.create(eventKind, write.event, {}, signal);
      if (!result.ok) refused(result.status.message);
      return;
    }
    const { namespace, name, count, lastMs } = write.series;
    const patch = { series: { count, lastObservedTime: microTimeFromMs(lastMs) } };
    const result = await client.patch(eventKind, { namespace, name }, "merge", patch, {}, signal);
    if (!result.ok) refused(result.status.message);
  }

  #event(event: SchedulerEvent, nowMs: number): Event {
    const { about, related, type, reason, action, message, schedulerName } = event;
    this.#count += 1n;
    const unique = (BigInt(Math.trunc(nowMs)) * 1_000_000n + this.#count).toString(16);
    return {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: {
        name: `${about.metadata.name}.${unique}`,
        namespace: about.metadata.namespace ?? "default",
      },
      eventTime: microTimeFromMs(nowMs),
      reportingController: schedulerName,
      reportingInstance: `${schedulerName}-${this.#options.hostname}`,
      action,
      reason,
      regarding: referenceTo(about),
      ...(related === undefined ? {} : { related: referenceTo(related) }),
      note: shortened(message),
      type,
      deprecatedSource: {},
    };
  }
}

function referenceTo({ metadata }: Pod): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    kind: "Pod",
    apiVersion: "v1",
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

function shortened(text: string): string {
  return text.length <= NOTE_LENGTH_MAX ? text : `${text.slice(0, NOTE_LENGTH_MAX - 4)} ...`;
}
