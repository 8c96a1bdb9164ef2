/**
 * Writes Events: what happened to an object, for people and tools.
 *
 * Promises, as upstream's recorder:
 * 1. `record` never waits and never fails; when the server is slow, events are dropped, not queued
 *    without bound.
 * 2. The same event again raises `count` and `lastTimestamp` of the first one.
 * 3. From the tenth on, events that differ only in their message become one with the latest message,
 *    with the prefix "(combined from similar events): "; ten minutes without any end that.
 * 4. One source may write 25 events of a type about one object at once and one more every 5 minutes;
 *    those that are left out are still counted.
 * 5. A server that cannot be reached is tried again for two minutes; what it refuses is given up.
 *    Either is logged.
 */
import type { Event, ObjectReference } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import { BoundedQueue } from "#lib/collections/bounded-queue.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Client, Typed } from "./client.ts";
import { TransportError } from "./transport.ts";

const QUEUE_MAX = 1_000;
const SIMILAR_MAX = 10;
const SIMILAR_WITHIN_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;
const MEMORY_MAX = 4_096;
const TRIES_MAX = 12;
const RETRY_MS = 10_000;
/** Events that wait when the signal aborts are sent within this time. */
const REST_MS_MAX = 1_000;

export interface Note {
  readonly about: KubeObject | ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface EventRecorderOptions {
  /**
   * Events wait for this before they are sent. `ageMs`: since the event was recorded. Those that wait when the
   * signal aborts are sent then, before `run` resolves.
   */
  waitForTurn?(ageMs: number, signal: AbortSignal): Promise<void>;
}

export interface EventRecorder {
  record(component: string, note: Note): void;
}

const eventRef: Typed<Event> = {
  group: "",
  version: "v1",
  apiVersion: "v1",
  scope: "Namespaced",
  names: { kind: "Event", plural: "events" },
};

interface Recorded {
  readonly component: string;
  readonly note: Note;
  readonly atMs: number;
}

/** What is known of an event that was noted before; it has a name once it was written. */
interface Known {
  readonly namespace: string;
  name: string | undefined;
  readonly firstTime: string;
  count: number;
}

export class ServerEventRecorder implements EventRecorder {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #host: string;
  readonly #logger: Logger;
  readonly #options: EventRecorderOptions;
  readonly #queue = new BoundedQueue<Recorded>(QUEUE_MAX);
  readonly #known = new Map<string, Known>();
  readonly #similar = new Map<string, { messages: Set<string>; lastMs: number }>();
  /** Makes the names of events of one millisecond unique; a double has no room for nanoseconds. */
  #count = 0n;
  readonly #budgets = new Map<string, { tokens: number; atMs: number }>();

  constructor(
    client: Client,
    clock: Clock,
    logger: Logger,
    host = "",
    options: EventRecorderOptions = {},
  ) {
    this.#logger = logger;
    this.#client = client;
    this.#clock = clock;
    this.#host = host;
    this.#options = options;
  }

  record(component: string, note: Note): void {
    this.#queue.offer({ component, note, atMs: this.#clock.nowMs() });
  }

  /** Sends what is recorded until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { waitForTurn } = this.#options;
    for (;;) {
      const next = await this.#queue.take(signal).catch(() => undefined);
      if (next === undefined) break;
      await waitForTurn?.(this.#clock.nowMs() - next.atMs, signal);
      if (waitForTurn !== undefined && signal.aborted) {
        await this.#sendRest(next);
        return;
      }
      await this.#sendOrLog(next, signal);
    }
    if (waitForTurn !== undefined) await this.#sendRest(undefined);
  }

  async #sendRest(first: Recorded | undefined): Promise<void> {
    const work = async (signal: AbortSignal): Promise<void> => {
      if (first !== undefined) await this.#sendOrLog(first, signal);
      while (this.#queue.size > 0 && !signal.aborted) {
        const next = await this.#queue.take();
        if (next !== undefined) await this.#sendOrLog(next, signal);
      }
    };
    await withTimeout(this.#clock, REST_MS_MAX, work).catch(() => undefined);
  }

  async #sendOrLog(next: Recorded, signal: AbortSignal): Promise<void> {
    await this.#send(next, signal).catch((error: unknown) => {
      if (signal.aborted) return;
      this.#logger.error("an event could not be written", { ...fieldsOf(next.note), error });
    });
  }

  async #send(recorded: Recorded, signal: AbortSignal): Promise<void> {
    const { component, note, atMs } = recorded;
    const about = referenceTo(note.about);
    const { message, id, isCombined } = this.#combine(component, about, note, atMs);
    const namespace = about.namespace ?? "default";
    const time = timeFromMs(atMs);
    const known = this.#known.get(id) ?? { namespace, name: undefined, firstTime: time, count: 0 };
    known.count += 1;
    remember(this.#known, id, known);
    if (!this.#isWithinBudget(component, about, note.type, atMs)) return;
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await this.#write(known, { component, about, note, message, time, isCombined }, signal);
        return;
      } catch (error) {
        if (!(error instanceof TransportError) || tries === TRIES_MAX) throw error;
        const fields = { ...fieldsOf(note), why: error.message };
        this.#logger.warn("an event could not be written, it is tried again", fields);
        await this.#clock.sleep(RETRY_MS, signal);
      }
    }
  }

  async #write(known: Known, parts: EventParts, signal: AbortSignal): Promise<void> {
    const { namespace, count } = known;
    if (known.name !== undefined) {
      const patch = { count, lastTimestamp: parts.time, message: parts.message };
      const key = { namespace, name: known.name };
      const result = await this.#client.patch(eventRef, key, "strategic", patch, {}, signal);
      if (result.ok) return;
      if (result.status.reason !== "NotFound") {
        this.#refused(parts.note, result.status);
        return;
      }
    }
    this.#count += 1n;
    const unique = BigInt(this.#clock.nowMs()) * 1_000_000n + this.#count;
    const name = `${parts.about.name ?? ""}.${unique.toString(16)}`;
    const event = this.#event(parts, known, name);
    const result = await this.#client.create(eventRef, event, {}, signal);
    if (result.ok) known.name = name;
    else this.#refused(parts.note, result.status);
  }

  /** Nothing new can be written to a namespace that goes: that is no fault of anyone. */
  #refused(note: Note, { reason, message, details }: Status): void {
    const going = details?.causes?.some((cause) => cause.reason === "NamespaceTerminating");
    const fields = { ...fieldsOf(note), why: message };
    if (reason === "AlreadyExists" || going) this.#logger.debug(REFUSED, fields);
    else this.#logger.error(REFUSED, fields);
  }

  #event(parts: EventParts, known: Known, name: string): Event {
    const { component, about, note, message, time, isCombined } = parts;
    // One that stands for several does not say who reports it, as upstream's.
    const reporting = isCombined
      ? { component: "", instance: "" }
      : { component, instance: this.#host };
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace: known.namespace },
      involvedObject: about,
      reason: note.reason,
      message,
      source: { component, ...(this.#host === "" ? {} : { host: this.#host }) },
      firstTimestamp: known.firstTime,
      lastTimestamp: time,
      count: known.count,
      type: note.type,
      eventTime: null,
      reportingComponent: reporting.component,
      reportingInstance: reporting.instance,
    };
  }

  /** The message to record, and the key under which events are combined. */
  #combine(
    component: string,
    about: ObjectReference,
    note: Note,
    atMs: number,
  ): { readonly message: string; readonly id: string; readonly isCombined: boolean } {
    const id = JSON.stringify([component, identityOf(about), note.type, note.reason]);
    let similar = this.#similar.get(id);
    if (similar === undefined || atMs - similar.lastMs > SIMILAR_WITHIN_MS) {
      similar = { messages: new Set(), lastMs: atMs };
    }
    similar.messages.add(note.message);
    similar.lastMs = atMs;
    remember(this.#similar, id, similar);
    if (similar.messages.size < SIMILAR_MAX) {
      const place = about.fieldPath ?? "";
      return { message: note.message, id: `${id} ${place} ${note.message}`, isCombined: false };
    }
    const [first = ""] = similar.messages;
    similar.messages.delete(first);
    return { message: `(combined from similar events): ${note.message}`, id, isCombined: true };
  }

  #isWithinBudget(component: string, about: ObjectReference, type: string, atMs: number): boolean {
    const id = JSON.stringify([component, identityOf(about), type]);
    const budget = this.#budgets.get(id) ?? { tokens: BURST, atMs };
    const tokens = Math.min(BURST, budget.tokens + (atMs - budget.atMs) / REFILL_MS);
    remember(this.#budgets, id, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs });
    return tokens >= 1;
  }
}

const REFUSED = "the server refused an event";

function fieldsOf({ about, reason }: Note): { object: string; reason: string } {
  const { kind = "", namespace = "", name = "" } = referenceTo(about);
  return { object: `${kind} ${namespace}/${name}`, reason };
}

interface EventParts {
  readonly component: string;
  readonly about: ObjectReference;
  readonly note: Note;
  readonly message: string;
  readonly time: string;
  readonly isCombined: boolean;
}

/** Which object, whatever its revision. */
function identityOf({ kind, namespace, name, uid, apiVersion }: ObjectReference): unknown {
  return [kind, namespace, name, uid, apiVersion];
}

/** What an Event says it is about. */
export function referenceTo(about: KubeObject | ObjectReference): ObjectReference {
  if (!("metadata" in about)) return about;
  const { apiVersion, kind, metadata } = about;
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    ...(kind === undefined ? {} : { kind }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(uid === undefined ? {} : { uid }),
    ...(apiVersion === undefined ? {} : { apiVersion }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** Sets and keeps the map bounded: the entry that was set longest ago goes first. */
function remember<V>(map: Map<string, V>, id: string, value: V): void {
  map.delete(id);
  map.set(id, value);
  if (map.size <= MEMORY_MAX) return;
  const oldest = map.keys().next();
  if (!oldest.done) map.delete(oldest.value);
}
