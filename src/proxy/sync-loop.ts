/** Writes rules whenever something changed, and looks now and then whether they are still there. */

import type { IpFamily } from "#api/meta/ip-family.ts";
import { Backoff } from "#lib/async/backoff.ts";
import type { WakeUp } from "#lib/async/wake-up.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { removeStaleUdpFlows } from "./conntrack.ts";
import type { ProxyHealth } from "./health/proxy-health.ts";
import type { ServiceHealthServers } from "./health/service-health-servers.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import type { NodeFacts } from "./rules/decide-service-rules.ts";
import type { ServiceTable } from "./service-table.ts";
import type { TriggerTimes } from "./trigger-times.ts";
import type { BaseRules, RuleWriter } from "./writers/writer.ts";

export interface SyncLoopOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: ProxyMetrics;
  readonly health: ProxyHealth;
  readonly table: ServiceTable;
  readonly changed: WakeUp;
  readonly checks: ServiceHealthServers;
  readonly triggers: TriggerTimes;
  readonly writers: readonly { readonly family: IpFamily; readonly writer: RuleWriter }[];
  baseRules(family: IpFamily): BaseRules;
  nodeFacts(): NodeFacts;
  interfaceAddresses(): readonly string[];
  readonly minSyncPeriodMs: number | undefined;
  readonly checkPeriodMs: number;
  /** Called after the first write. */
  onReady(): void;
}

/** Lives until the signal aborts. */
export async function runSyncLoop(options: SyncLoopOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, minSyncPeriodMs } = options;
  const backoff = new Backoff({ baseMs: 1_000, capMs: 30_000, random });
  const loop = new Loop(options);
  let whole: ReadonlySet<IpFamily> | "all" = "all";
  while (!signal.aborted) {
    const startMs = clock.elapsedMs();
    try {
      await loop.sync(whole);
      backoff.reset();
      whole = new Set();
      // Rests as long as it worked, so that constant change takes at most half of a core.
      const restMs = minSyncPeriodMs ?? clock.elapsedMs() - startMs;
      await clock.sleep(restMs, signal).catch(() => undefined);
      whole = await loop.untilNeeded(signal);
    } catch (error) {
      whole = "all";
      logger.error("proxy rules could not be written", { error });
      await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    }
  }
}

class Loop {
  readonly #options: SyncLoopOptions;
  #isReady = false;
  #isConntrackWarned = false;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
  }

  async sync(whole: ReadonlySet<IpFamily> | "all"): Promise<void> {
    const { clock, table, writers, metrics, health, checks, nodeFacts, baseRules } = this.#options;
    this.#options.changed.reset();
    this.#options.triggers.begin();
    const { changed, hasUdp } = table.take(nodeFacts());
    for (const { family, writer } of writers) {
      const startMs = clock.elapsedMs();
      const isWhole = whole === "all" || whole.has(family);
      try {
        const world = { base: baseRules(family), services: table.rulesOf(family) };
        await writer.sync(world, isWhole ? "all" : changed);
      } catch (error) {
        metrics.failures(family).add(1);
        throw error;
      }
      metrics.duration(family).observe((clock.elapsedMs() - startMs) / 1000);
      metrics.lastSync(family).set(clock.nowMs() / 1000);
    }
    for (const seconds of this.#options.triggers.end(clock.nowMs())) {
      metrics.programming.observe(seconds);
    }
    if (hasUdp) await this.#cleanConntrack();
    await checks.sync(table.healthChecks());
    if (!table.hasChanges) health.updated();
    if (this.#isReady) return;
    this.#isReady = true;
    this.#options.logger.info("service rules are written");
    this.#options.onReady();
  }

  /** Answers which families must be written whole, once something must be written. */
  async untilNeeded(signal: AbortSignal): Promise<ReadonlySet<IpFamily>> {
    const { changed, clock, checkPeriodMs, writers, logger } = this.#options;
    const change = changed.woken.then(() => true);
    while (!signal.aborted) {
      const over = new AbortController();
      const stop = (): void => over.abort();
      signal.addEventListener("abort", stop, { once: true });
      const check = clock.sleep(checkPeriodMs, over.signal).then(
        () => false,
        () => false,
      );
      const isChanged = await Promise.race([change, check]);
      signal.removeEventListener("abort", stop);
      over.abort();
      if (isChanged) return new Set();
      if (signal.aborted) break;
      const lost = new Set<IpFamily>();
      for (const { family, writer } of writers) {
        if (!(await writer.isIntact())) lost.add(family);
      }
      if (lost.size === 0) continue;
      logger.warn("proxy rules are gone and written again", { families: [...lost].join(" ") });
      return lost;
    }
    return new Set();
  }

  /** Without the program everything else goes on. */
  async #cleanConntrack(): Promise<void> {
    const { writers, table, logger, interfaceAddresses } = this.#options;
    try {
      for (const { family } of writers) {
        await removeStaleUdpFlows(family, table.udpRulesOf(family), interfaceAddresses(), logger);
      }
    } catch (error) {
      if (this.#isConntrackWarned) return;
      this.#isConntrackWarned = true;
      logger.warn("UDP conntrack entries are not cleaned up", { why: messageOf(error) });
    }
  }
}
