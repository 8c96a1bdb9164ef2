/**
 * The times of the changes that EndpointSlices show, until their rules are written. The
 * EndpointSlice controller sets that time in an annotation. Changes from before the proxy started do not
 * count: they would measure how long the proxy was away.
 */
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";

export const TRIGGER_TIME_ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time";
/** Limit of distinct times between two writes of rules. */
const WAITING_MAX = 10_000;

export class TriggerTimes {
  readonly #sinceMs: number;
  #waiting: number[] = [];
  #writing: number[] = [];

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  add(next: EndpointSlice | undefined, old: EndpointSlice | undefined): void {
    const text = next?.metadata.annotations?.[TRIGGER_TIME_ANNOTATION];
    if (text === undefined || text === old?.metadata.annotations?.[TRIGGER_TIME_ANNOTATION]) return;
    const atMs = Date.parse(text);
    if (!(atMs >= this.#sinceMs) || this.#waiting.length >= WAITING_MAX) return;
    this.#waiting.push(atMs);
  }

  /** Rules are decided from now on: what has come until now will be in them. */
  begin(): void {
    this.#writing.push(...this.#waiting);
    this.#waiting = [];
  }

  /** The rules are written. Answers the seconds since each of the changes. */
  end(nowMs: number): readonly number[] {
    const seconds = this.#writing.map((atMs) => Math.max(0, nowMs - atMs) / 1000);
    this.#writing = [];
    return seconds;
  }
}
