/**
 * Keeps a program running: when it ends, it is started again with a back-off until the signal aborts;
 * then it gets SIGTERM, and SIGKILL if it does not end in time.
 */
import { Backoff } from "#lib/async/backoff.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { ChildProgram } from "./start-program.ts";

export interface SuperviseOptions {
  /** For the log. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** How long SIGTERM may take before SIGKILL follows; without a limit unless given. */
  readonly graceMs?: number;
}

/** A program that ran for so long starts again at once. */
const STABLE_MS = 60_000;

/** Ends after the signal aborted and the program is gone. */
export async function superviseProgram(
  first: ChildProgram,
  start: () => ChildProgram,
  options: SuperviseOptions,
  signal: AbortSignal,
): Promise<void> {
  const { name, clock, random, logger } = options;
  const backoff = new Backoff({ baseMs: 100, capMs: 10_000, jitter: 0.2, random });
  for (let child = first; ; child = start()) {
    const stop = (): void => stopProgram(child, options);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const startedMs = clock.elapsedMs();
    const { exitCode, lastLines } = await child.ended;
    signal.removeEventListener("abort", stop);
    if (signal.aborted) return;
    if (clock.elapsedMs() - startedMs > STABLE_MS) backoff.reset();
    logger.error(`${name} ended and is started again`, { exitCode, lastLines });
    await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

function stopProgram(child: ChildProgram, { clock, graceMs }: SuperviseOptions): void {
  child.kill("SIGTERM");
  if (graceMs === undefined) return;
  const timer = clock.schedule(graceMs, () => child.kill("SIGKILL"));
  void child.ended.then(() => timer.cancel());
}
