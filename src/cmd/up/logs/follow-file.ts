/** Hands on what is appended to a file, in whole lines. A file that was emptied is read from its start. */
import { closeSync, fstatSync, openSync, readSync, watch } from "node:fs";
import { untilAborted } from "#lib/async/aborted.ts";

const READ_BYTES_MAX = 1024 * 1024;

export async function followFile(
  file: string,
  startBytes: number,
  onLines: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const descriptor = openSync(file, "r");
  const watcher = watch(file);
  let at = startBytes;
  let unfinished = Buffer.alloc(0);
  const read = (): void => {
    for (;;) {
      const { size } = fstatSync(descriptor);
      if (size < at) at = 0;
      const chunk = Buffer.alloc(Math.min(size - at, READ_BYTES_MAX));
      const length = readSync(descriptor, chunk, 0, chunk.length, at);
      if (length === 0) return;
      at += length;
      const bytes = Buffer.concat([unfinished, chunk.subarray(0, length)]);
      const end = bytes.lastIndexOf("\n") + 1;
      // A line without an end is not kept forever.
      const cut = end === 0 && bytes.length > READ_BYTES_MAX ? bytes.length : end;
      if (cut > 0) onLines(bytes.toString("utf8", 0, cut));
      unfinished = bytes.subarray(cut);
    }
  };
  try {
    watcher.on("change", read);
    read();
    await untilAborted(signal);
  } finally {
    watcher.close();
    closeSync(descriptor);
  }
}
