/**
 * The lines of a stream of bytes, such as the events of a watch: those that end in the same chunk as one
 * array. A line has at most 64 MiB.
 */
const LINE_BYTES_MAX = 64 << 20;

export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly string[]> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const last = chunk.subarray(start, end);
      const line = pending.length === 0 ? last : Buffer.concat([...pending, last]);
      pending = [];
      pendingBytes = 0;
      start = end + 1;
      if (line.length > 0) lines.push(line.toString("utf8"));
    }
    if (lines.length > 0) yield lines;
    if (start < chunk.length) {
      pending.push(chunk.subarray(start));
      pendingBytes += chunk.length - start;
      if (pendingBytes > LINE_BYTES_MAX) throw new Error("a watch event is too large");
    }
  }
}
