/**
 * Writes Events: what happened to an object, for people and tools.
 *
 * Promises, as upstream's recorder:
 * 1. `record` never waits and never fails; when the server is slow, events are dropped, not queued
 *    without bound.
 * 2. The same event again raises `count` and `lastTimestamp` of the first one.
 * 3. More than 10 events that differ only in their message within 10 minutes become one with the
 *    prefix "(combined from similar events): ".
 * 4. One source may write 25 events about one object at once and one more every 5 minutes.
 */
import type { Event, ObjectReference } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { BoundedQueue } from "#lib/bounded-queue.ts";
import type { Clock } from "#lib/clock.ts";
import type { Client, Typed } from "./client.ts";

const QUEUE_MAX = 1_000;
const SIMILAR_MAX = 10;
const SIMILAR_WITHIN_MS = 600_000;
const BURST = 25;
const REFILL_MS = 300_000;
const MEMORY_MAX = 4_096;

export interface Note {
  readonly about: KubeObject | ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
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

interface Sent {
  readonly namespace: string;
  readonly name: string;
  count: number;
}

export class ServerEventRecorder implements EventRecorder {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #host: string;
  readonly #queue = new BoundedQueue<{ component: string; note: Note; atMs: number }>(QUEUE_MAX);
  readonly #sent = new Map<string, Sent>();
  readonly #similar = new Map<string, { messages: Set<string>; sinceMs: number }>();
  /** Tells events of one millisecond apart; doubles have no room for it. */
  #count = 0n;
  readonly #budgets = new Map<string, { tokens: number; atMs: number }>();

  constructor(client: Client, clock: Clock, host = "") {
    this.#client = client;
    this.#clock = clock;
    this.#host = host;
  }

  record(component: string, note: Note): void {
    this.#queue.offer({ component, note, atMs: this.#clock.nowMs() });
  }

  /** Sends what is recorded until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const next = await this.#queue.take(signal).catch(() => undefined);
      if (next === undefined) return;
      await this.#send(next.component, next.note, next.atMs, signal).catch(() => undefined);
    }
  }

  async #send(component: string, note: Note, atMs: number, signal: AbortSignal): Promise<void> {
    const about = referenceTo(note.about);
    if (!this.#isWithinBudget(component, about, atMs)) return;
    const message = this.#combine(component, about, note, atMs);
    const id = JSON.stringify([component, about, note.type, note.reason, message]);
    const time = timeFromMs(atMs);
    const sent = this.#sent.get(id);
    if (sent !== undefined) {
      sent.count += 1;
      const patch = { count: sent.count, lastTimestamp: time, message };
      const result = await this.#client.patch(eventRef, sent, "strategic", patch, {}, signal);
      if (result.ok || result.status.reason !== "NotFound") return;
    }
    const namespace = about.namespace ?? "default";
    this.#count += 1n;
    const name = `${about.name ?? ""}.${(BigInt(atMs) * 1_000_000n + this.#count).toString(16)}`;
    const event = this.#event({ component, about, note, message, namespace, name, time });
    const result = await this.#client.create(eventRef, event, {}, signal);
    if (result.ok) remember(this.#sent, id, { namespace, name, count: 1 });
  }

  #event(parts: {
    component: string;
    about: ObjectReference;
    note: Note;
    message: string;
    namespace: string;
    name: string;
    time: string;
  }): Event {
    const { component, about, note, message, namespace, name, time } = parts;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject: about,
      reason: note.reason,
      message,
      source: { component, ...(this.#host === "" ? {} : { host: this.#host }) },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type: note.type,
      eventTime: null,
      reportingComponent: component,
      reportingInstance: this.#host,
    };
  }

  #combine(component: string, about: ObjectReference, note: Note, atMs: number): string {
    const id = JSON.stringify([component, about, note.type, note.reason]);
    let similar = this.#similar.get(id);
    if (similar === undefined || atMs - similar.sinceMs > SIMILAR_WITHIN_MS) {
      similar = { messages: new Set(), sinceMs: atMs };
      remember(this.#similar, id, similar);
    }
    similar.messages.add(note.message);
    if (similar.messages.size <= SIMILAR_MAX) return note.message;
    return `(combined from similar events): ${note.message}`;
  }

  #isWithinBudget(component: string, about: ObjectReference, atMs: number): boolean {
    const id = JSON.stringify([component, about]);
    const budget = this.#budgets.get(id) ?? { tokens: BURST, atMs };
    const tokens = Math.min(BURST, budget.tokens + (atMs - budget.atMs) / REFILL_MS);
    remember(this.#budgets, id, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs });
    return tokens >= 1;
  }
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
