/** When the code caches of scripts are written: see #lib/script-loader.ts. */
import type { ScriptLoader } from "#lib/script-loader.ts";
import { systemClock } from "#lib/time/system-clock.ts";

/** Set by the build, which lets several starts add to the same code caches. */
export const WRITE_ALL_CODE_CACHES = "K8TS_WRITE_CODE_CACHES";

/** By then all that a start runs has run, and V8 has not dropped any of it yet. */
const WRITE_AFTER_MS = 10_000;

/** Writes them after a while, or when the returned function is called, if that is sooner. */
export function writeCodeCachesLater(scripts: ScriptLoader): () => void {
  const write = (): void =>
    scripts.writeCodeCaches({ all: process.env[WRITE_ALL_CODE_CACHES] !== undefined });
  systemClock.schedule(WRITE_AFTER_MS, write);
  return write;
}
