/**
 * Graceful node shutdown: before the machine goes down, pods are ended by priority, with their grace
 * as far as the configured time allows. While it lasts, pods are refused and the node is not Ready.
 */
import {
  type ShutdownGroup,
  shutdownGrace,
  shutdownGroups,
} from "#kubelet/decide/node/shutdown-groups.ts";
import type { PodWorkers } from "#kubelet/pods/pod-workers.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { NodeEvent } from "./node-events.ts";

const LOOK_MS = 100;
const REASON = "Terminated";
const MESSAGE = "Pod was terminated in response to imminent node shutdown.";

export interface NodeShutdownOptions {
  readonly shutdownGraceMs: number;
  readonly shutdownGraceCriticalMs: number;
  readonly workers: PodWorkers;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onNodeEvent: NodeEvent;
  /** The node's conditions have changed. */
  onChange(): void;
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

  /** Resolves when all pods have ended or the time is over. Does nothing without a configured time. */
  async shutDown(): Promise<void> {
    const { workers, logger, onNodeEvent, onChange, shutdownGraceMs, flushed } = this.#options;
    if (shutdownGraceMs === 0 || this.#isShuttingDown) return;
    this.#isShuttingDown = true;
    logger.info("the node shuts down: pods are ended");
    onNodeEvent("Normal", "NodeShutdown", "Shutdown manager detected shutdown event");
    onChange();
    for (const group of shutdownGroups(workers.active(), this.#options)) await this.#end(group);
    await flushed();
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
