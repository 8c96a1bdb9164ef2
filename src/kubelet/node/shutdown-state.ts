/**
 * When the node was last shut down: the file `graceful_node_shutdown_state` in the kubelet's folder,
 * in upstream's form, and the metrics that are read from it after the machine has come back.
 */
import { join } from "node:path";
import { readTextIfPresent, writeFileWhole } from "#host/files.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";

export interface ShutdownTimes {
  readonly startMs: number;
  readonly endMs?: number;
}

export class ShutdownState {
  readonly #path: string;
  readonly #logger: Logger;
  readonly #times = { start: 0, end: 0 };

  constructor(root: string, logger: Logger, metrics: Metrics) {
    this.#path = join(root, "graceful_node_shutdown_state");
    this.#logger = logger;
    const times = this.#times;
    metrics.gaugeOf(
      {
        name: "kubelet_graceful_shutdown_start_time_seconds",
        help: "Last graceful shutdown start time since unix epoch in seconds",
      },
      () => times.start,
    );
    metrics.gaugeOf(
      {
        name: "kubelet_graceful_shutdown_end_time_seconds",
        help: "Last graceful shutdown end time since unix epoch in seconds",
      },
      () => times.end,
    );
  }

  async load(): Promise<void> {
    try {
      const stored = JSON.parse((await readTextIfPresent(this.#path)) ?? "{}") as Stored;
      this.#times.start = secondsOf(stored.startTime);
      this.#times.end = secondsOf(stored.endTime);
    } catch (error) {
      const err = messageOf(error);
      this.#logger.error("Failed to load graceful shutdown state", { err });
    }
  }

  async store({ startMs, endMs }: ShutdownTimes): Promise<void> {
    this.#times.start = Math.floor(startMs / 1000);
    this.#times.end = endMs === undefined ? 0 : Math.floor(endMs / 1000);
    const text = JSON.stringify({ startTime: timeOf(startMs), endTime: timeOf(endMs) });
    try {
      await writeFileWhole(this.#path, text);
    } catch (error) {
      const err = messageOf(error);
      this.#logger.error("Failed to store graceful shutdown state", { err });
    }
  }
}

interface Stored {
  readonly startTime?: string;
  readonly endTime?: string;
}

/** Go's zero time stands for none. */
const NEVER = "0001-01-01T00:00:00Z";

function timeOf(ms: number | undefined): string {
  return ms === undefined ? NEVER : new Date(ms).toISOString();
}

function secondsOf(time = NEVER): number {
  return time === NEVER ? 0 : Math.floor(Date.parse(time) / 1000);
}
