/**
 * Holds the machine's shutdown back while pods are ended: takes systemd's inhibitor lock, waits for
 * logind to announce a shutdown, and releases the lock when the pods have ended. Where there is no
 * logind, that is logged once and shutdowns are not noticed, as in upstream.
 */
import type { Logind } from "#host/logind.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { NodeShutdown } from "./node-shutdown.ts";

const RECONNECT_MS = 1_000;
/** Logind reads its new settings at some time after it was asked to. */
const RELOAD_PAUSES_MS = [100, 200, 400, 800];

export interface ShutdownWatchOptions {
  readonly logind: Logind;
  readonly shutdown: Pick<NodeShutdown, "periodMs" | "shutDown" | "cancel">;
  readonly clock: Clock;
  readonly logger: Logger;
}

export async function runShutdownWatch(
  options: ShutdownWatchOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, shutdown } = options;
  if (shutdown.periodMs === 0) return;
  let watch: Watch;
  try {
    watch = await watchOnce(options, signal);
  } catch (error) {
    if (signal.aborted) return;
    logger.error("Failed to start node shutdown manager", { err: messageOf(error) });
    return;
  }
  while (!signal.aborted) {
    await watch.ended;
    await clock.sleep(RECONNECT_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    logger.info("Restarting watch for node shutdown events");
    try {
      watch = await watchOnce(options, signal);
    } catch (error) {
      if (signal.aborted) return;
      const err = messageOf(error);
      logger.error("Unable to watch the node for shutdown events", { err });
      watch = { ended: Promise.resolve() };
    }
  }
}

interface Watch {
  /** Resolves when signals are no longer heard. */
  readonly ended: Promise<void>;
}

/** Answers once the lock is held and signals are heard. */
async function watchOnce(
  { logind, shutdown, clock, logger }: ShutdownWatchOptions,
  signal: AbortSignal,
): Promise<Watch> {
  await logind.connect();
  await raiseDelay(logind, shutdown.periodMs, clock, signal);
  let lock: Disposable | undefined;
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const watch = logind.watch((isShuttingDown) => {
    logger.info("Shutdown manager detected new shutdown event", {
      event: isShuttingDown ? "shutdown" : "cancelled",
    });
    if (isShuttingDown) {
      void shutdown.shutDown().finally(() => {
        lock?.[Symbol.dispose]();
        lock = undefined;
        logger.info(
          "Shutdown manager completed processing shutdown event, node will shutdown shortly",
        );
      });
      return;
    }
    shutdown.cancel();
    logind.inhibit().then(
      (again) => {
        lock?.[Symbol.dispose]();
        lock = again;
      },
      (error: unknown) => logger.error("the shutdown lock was not taken", { error }),
    );
  }, both);
  try {
    await watch.started;
    lock = await logind.inhibit();
  } catch (error) {
    stop.abort();
    throw error;
  }
  return { ended: watch.ended.then(() => lock?.[Symbol.dispose]()) };
}

/** Logind must be ready to wait as long as the pods may take. */
async function raiseDelay(
  logind: Logind,
  periodMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (periodMs <= (await logind.inhibitDelayMs())) return;
  try {
    await logind.writeInhibitDelay(periodMs);
  } catch (error) {
    throw new Error(`unable to override inhibit delay by shutdown manager: ${messageOf(error)}`);
  }
  await logind.reload();
  let delayMs = await logind.inhibitDelayMs();
  for (const pauseMs of RELOAD_PAUSES_MS) {
    if (periodMs <= delayMs) return;
    await clock.sleep(pauseMs, signal);
    delayMs = await logind.inhibitDelayMs();
  }
  if (periodMs <= delayMs) return;
  throw new Error(
    `node shutdown manager was timed out after ${RELOAD_PAUSES_MS.length + 1} attempts waiting for logind InhibitDelayMaxSec to update to ${periodMs / 1000}s (ShutdownGracePeriod), current value is ${delayMs / 1000}s`,
  );
}
