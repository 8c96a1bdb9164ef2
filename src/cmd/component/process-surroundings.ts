/** What a command takes from its process: the system's clock and randomness, a logger on stderr. */

import type { Logger } from "#lib/logger.ts";
import { createLogger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import { systemRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { LogFlags } from "../flags/log-flags.ts";

export interface ProcessSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export function processSurroundings(
  { logLevel, logFormat }: LogFlags,
  write: (line: string) => void = (line) => process.stderr.write(line),
): ProcessSurroundings {
  return {
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({
      level: logLevel,
      clock: systemClock,
      format: logFormat === "text" && process.stderr.isTTY ? "pretty" : logFormat,
      write,
    }),
  };
}
