/** Writes to a stream; resolves when the bytes have left it, or it is gone. No listener stays behind. */
import type { Writable } from "node:stream";

export function flushed(
  stream: Pick<Writable, "closed" | "on" | "off"> & {
    write(chunk: Uint8Array, done: () => void): boolean;
  },
  chunk: Uint8Array,
): Promise<void> {
  if (stream.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("close", done);
      resolve();
    };
    stream.on("close", done);
    stream.write(chunk, done);
  });
}
