/** Resolves when a stream that was full has room again, or is gone. No listener stays behind. */
import type { Writable } from "node:stream";

export function drained(stream: Writable): Promise<void> {
  if (stream.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
  });
}
