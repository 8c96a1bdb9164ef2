/**
 * When the changes happened that EndpointSlices tell of, until their rules are written. The
 * EndpointSlice controller notes that time in an annotation. Changes from before the proxy began do not
 * count: they would tell how long the proxy was away.
 */
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";

const ANNOTATION = "endpoints.kubernetes.io/last-change-trigger-time";
/** More between two writes of rules are not told apart. */
const WAITING_MAX = 10_000;

export class TriggerTimes {
  readonly #sinceMs: number;
  #waiting: number[] = [];
  #writing: number[] = [];

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  add(next: EndpointSlice | undefined, old: EndpointSlice | undefined): void {
    const text = next?.metadata.annotations?.[ANNOTATION];
    if (text === undefined || text === old?.metadata.annotations?.[ANNOTATION]) return;
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
