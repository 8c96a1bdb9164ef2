/**
 * Whether the proxy keeps up: it does unless changes have waited longer than the timeout. `/healthz`
 * also fails while the node is being removed, so that load balancers send no new connections; `/livez`
 * does not, because restarting the proxy would not help.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { Page } from "./page-server.ts";

const TIMEOUT_MS = 60_000;

export class ProxyHealth {
  readonly #clock: Clock;
  #updatedMs: number;
  /** Since when changes wait; undefined if none do. */
  #waitingSinceMs: number | undefined;
  isNodeEligible = true;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#updatedMs = clock.nowMs();
    this.#waitingSinceMs = this.#updatedMs; // the first rules are not written yet
  }

  get isHealthy(): boolean {
    const since = this.#waitingSinceMs;
    return since === undefined || this.#clock.nowMs() - since < TIMEOUT_MS;
  }

  queued(): void {
    this.#waitingSinceMs ??= this.#clock.nowMs();
  }

  updated(): void {
    this.#updatedMs = this.#clock.nowMs();
    this.#waitingSinceMs = undefined;
  }

  page(path: string): Page | undefined {
    if (path !== "/healthz" && path !== "/livez") return undefined;
    const isWell = this.isHealthy && (path === "/livez" || this.isNodeEligible);
    const nowMs = this.#clock.nowMs();
    const lastUpdated = new Date(this.isHealthy ? nowMs : this.#updatedMs).toISOString();
    return {
      code: isWell ? 200 : 503,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        lastUpdated,
        currentTime: new Date(nowMs).toISOString(),
        ...(path === "/healthz" ? { nodeEligible: this.isNodeEligible } : {}),
      }),
    };
  }
}
