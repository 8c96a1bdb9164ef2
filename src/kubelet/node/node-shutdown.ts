/**
 * Graceful node shutdown: before the machine goes down, pods are ended by priority, with their grace
 * as far as the configured time allows. While it lasts, pods are refused and the node is not Ready.
 */
import {
  type ShutdownGroup,
  type ShutdownPeriod,
  shutdownGrace,
  shutdownGroups,
} from "#kubelet/decide/node/shutdown-groups.ts";
import type { PodWorkers } from "#kubelet/pods/pod-workers.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { NodeEvent } from "./node-events.ts";
import type { ShutdownTimes } from "./shutdown-state.ts";

const LOOK_MS = 100;
const REASON = "Terminated";
const MESSAGE = "Pod was terminated in response to imminent node shutdown.";

export interface NodeShutdownOptions {
  /** None: shutdowns are not held back. */
  readonly periods: readonly ShutdownPeriod[];
  readonly workers: PodWorkers;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onNodeEvent: NodeEvent;
  /** The node's conditions have changed. */
  onChange(): void;
  /** When the last shutdown began, and when its pods had ended. Never rejects. */
  onTimes(times: ShutdownTimes): Promise<void>;
  /** Resolves when the statuses of ended pods are with the API server. */
  flushed(): Promise<void>;
}

export class NodeShutdown {
  readonly #options: NodeShutdownOptions;
  #isShuttingDown = false;

  constructor(options: NodeShutdownOptions) {
    this.#options = options;
  }

  get isShuttingDown(): boolean {
    return this.#isShuttingDown;
  }

  /** How long the machine's shutdown may have to wait. */
  get periodMs(): number {
    const { periods } = this.#options;
    return periods.reduce((sum, one) => sum + one.shutdownGracePeriodSeconds * 1000, 0);
  }

  /** Resolves when all pods have ended or the time is over. Does nothing without a configured time. */
  async shutDown(): Promise<void> {
    const { workers, logger, onNodeEvent, onChange, periods, flushed, onTimes } = this.#options;
    if (periods.length === 0 || this.#isShuttingDown) return;
    this.#isShuttingDown = true;
    logger.info("Shutdown manager processing shutdown event");
    onNodeEvent("Normal", "NodeShutdown", "Shutdown manager detected shutdown event");
    onChange();
    const startMs = this.#options.clock.nowMs();
    await onTimes({ startMs });
    for (const group of shutdownGroups(workers.active(), periods)) await this.#end(group);
    await flushed();
    await onTimes({ startMs, endMs: this.#options.clock.nowMs() });
  }

  /** The machine goes on after all: pods are accepted again. */
  cancel(): void {
    const { onNodeEvent, onChange } = this.#options;
    onNodeEvent("Normal", "NodeShutdown", "Shutdown manager detected shutdown cancellation");
    this.#isShuttingDown = false;
    onChange();
  }

  async #end(group: ShutdownGroup): Promise<void> {
    const { workers, clock, logger } = this.#options;
    const uids = group.pods.map(({ metadata }) => metadata.uid ?? "");
    for (const pod of group.pods) {
      workers.end(pod.metadata.uid ?? "", {
        ...{ reason: REASON, message: MESSAGE, graceSeconds: shutdownGrace(pod, group) },
        disruption: { reason: "TerminationByKubelet", message: MESSAGE },
      });
    }
    const endMs = clock.elapsedMs() + group.graceSeconds * 1000;
    while (uids.some((uid) => workers.isActive(uid))) {
      if (clock.elapsedMs() >= endMs) {
        logger.warn("pods did not end within their time of the shutdown", { count: uids.length });
        return;
      }
      await clock.sleep(LOOK_MS);
    }
  }
}
