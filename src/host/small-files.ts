/**
 * Reads small files of /proc and /sys, many at once: a scrape of a node's containers reads thousands of
 * them. Each costs three calls in the thread pool, where `readFile` needs five and a buffer of its own.
 *
 * Promises:
 * 1. At most FILES_MAX files are open at a time.
 * 2. A file that is missing or cannot be read is undefined: a container may end at any moment.
 */
import { close, open, read } from "node:fs";
import { ConcurrencyLimit } from "#lib/async/concurrency-limit.ts";

const FILES_MAX = 16;
const BUFFER_BYTES = 8_192;
/**
 * The kernel fills at least half a page before it ends a read, so that a shorter one was the last.
 * Records are no longer than half a page.
 */
const SURE_END_BYTES = 2_048;

export type ReadText = (path: string) => Promise<string | undefined>;

export class SmallFiles {
  readonly #limit = new ConcurrencyLimit(FILES_MAX);
  readonly #buffers: Buffer[] = [];

  read(path: string): Promise<string | undefined> {
    return this.#limit.run(async () => {
      const buffer = this.#buffers.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
      try {
        return await readText(path, buffer);
      } finally {
        this.#buffers.push(buffer);
      }
    });
  }
}

function readText(path: string, buffer: Buffer): Promise<string | undefined> {
  return new Promise((resolve) => {
    open(path, "r", (failure, file) => {
      if (failure !== null) {
        resolve(undefined);
        return;
      }
      let text = "";
      const end = (result: string | undefined): void => close(file, () => resolve(result));
      const next = (): void => {
        read(file, buffer, 0, buffer.length, null, (error, bytes) => {
          if (error !== null) {
            end(undefined);
            return;
          }
          text += buffer.toString("latin1", 0, bytes);
          if (bytes < SURE_END_BYTES) end(text);
          else next();
        });
      };
      next();
    });
  });
}
