/** Calls `release` once the stream has room again, or is gone. */
import type { Writable } from "node:stream";

export function releaseWhenDrained(stream: Writable, release: () => void): void {
  const done = (): void => {
    stream.off("drain", done);
    stream.off("close", done);
    release();
  };
  stream.on("drain", done);
  stream.on("close", done);
}
