/**
 * Watches files that others replace: certificates of an administrator or of a mounted Secret. The
 * folders are watched, because such files are replaced and not rewritten.
 */
import { watch } from "node:fs";
import { dirname } from "node:path";
import type { Clock, Timer } from "#lib/time/clock.ts";
import { readPrivateFile } from "./private-file.ts";

/** A pair of files is replaced one after the other; both should be there. */
const SETTLE_MS = 200;

/** Lives until the signal aborts. A file that cannot be read does not count as changed. */
export function watchFiles(
  files: readonly string[],
  onChange: () => void,
  clock: Pick<Clock, "schedule">,
  signal: AbortSignal,
): void {
  const read = (): string => JSON.stringify(files.map(contentOf));
  let known = read();
  let settling: Timer | undefined;
  const look = (): void => {
    const now = read();
    if (now === known || files.some((file) => contentOf(file) === undefined)) return;
    known = now;
    onChange();
  };
  for (const folder of new Set(files.map(dirname))) {
    watch(folder, { signal, persistent: false }, () => {
      settling?.cancel();
      settling = clock.schedule(SETTLE_MS, look);
    }).on("error", () => undefined); // the folder went away; what is loaded stays in use
  }
  signal.addEventListener("abort", () => settling?.cancel(), { once: true });
}

function contentOf(file: string): string | undefined {
  try {
    return readPrivateFile(file);
  } catch {
    return undefined;
  }
}
