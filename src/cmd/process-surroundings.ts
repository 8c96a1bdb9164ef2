/** What a command takes from its process: the system's clock and randomness, a logger on stderr. */

import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { createLogger, type LogLevel } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/system-clock.ts";

export interface ProcessSurroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export function processSurroundings(
  level: LogLevel = "info",
  format: "text" | "json" = process.stderr.isTTY ? "text" : "json",
): ProcessSurroundings {
  return {
    clock: systemClock,
    random: systemRandom,
    logger: createLogger({
      level,
      clock: systemClock,
      format: format === "text" && process.stderr.isTTY ? "pretty" : format,
      write: (line) => process.stderr.write(line),
    }),
  };
}
