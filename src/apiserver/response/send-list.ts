/** Sends a list in chunks, as fast as the client reads. */

import { nextTurn } from "#lib/async/next-turn.ts";
import type { Histogram } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import { AHEAD_BYTES_MAX, type Reply } from "../http/exchange.ts";
import type { ObjectList, OutgoingHeaders } from "./answer.ts";
import type { ZippedLists } from "./compressed-list-cache.ts";
import type { JoinedItems } from "./list-bytes-cache.ts";
import { jsonText, type ListText, protobufText } from "./list-text.ts";
import { MEDIA_TYPES, type Media } from "./negotiate.ts";

const GZIP_BYTES_MIN = 128 * 1024;
/** Sent in one go up to here. */
const WHOLE_BYTES_MAX = 512 * 1024;
/** A client that reads nothing for so long is given up. */
const STALL_MS = 60_000;

export interface ListSender {
  readonly zipped: ZippedLists;
  readonly joined: JoinedItems;
  readonly spare: SpareBuffers;
  readonly clock: Clock;
}

const CHUNK_BYTES = AHEAD_BYTES_MAX / 2;
const SPARE_MAX = 16;

/**
 * Buffers for chunks of lists. Reused, since that much garbage keeps the collector busy, and in shared
 * memory, so that the HTTP thread needs no copy.
 */
export class SpareBuffers {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.from(new SharedArrayBuffer(CHUNK_BYTES));
  }

  /** Returns a buffer that is no longer read. */
  give(buffer: Buffer): void {
    if (this.#free.length < SPARE_MAX) this.#free.push(buffer);
  }
}

/** Whether a list goes out as its items lie there. */
export function isPlainList({ encoding, pretty, as }: Media): boolean {
  return as === undefined && (encoding === "protobuf" || (encoding === "json" && !pretty));
}

export async function sendList(
  { zipped, joined, spare, clock }: ListSender,
  list: ObjectList,
  { encoding }: Media,
  code: number,
  headers: OutgoingHeaders,
  acceptsGzip: boolean,
  reply: Reply,
  sizes: Histogram | undefined,
): Promise<void> {
  const text = encoding === "protobuf" ? protobufText(list, joined) : jsonText(list, joined);
  const typed = { ...headers, "content-type": MEDIA_TYPES[encoding] };
  if (acceptsGzip && text.length > GZIP_BYTES_MIN) {
    const what = `${encoding} ${list.kind.apiVersion} ${list.place}`;
    const bytes = await zipped.of(what, list.state, text);
    sizes?.observe(bytes.length);
    reply.send(code, { ...typed, "content-encoding": "gzip", vary: "Accept-Encoding" }, bytes);
    return;
  }
  sizes?.observe(text.length);
  if (text.length <= WHOLE_BYTES_MAX) {
    reply.send(code, typed, text.whole());
    return;
  }
  reply.start(code, { ...typed, "content-length": String(text.length) });
  await writeAll(text, spare, clock, reply);
}

async function writeAll(
  text: ListText,
  spare: SpareBuffers,
  clock: Clock,
  reply: Reply,
): Promise<void> {
  const reader = text.reader();
  // While one is on its way the other is filled: `write` lets no more than one be under way.
  const buffers = [spare.take(), spare.take()] as const;
  for (let turn = 0; ; turn = 1 - turn) {
    const buffer = buffers[turn]!;
    const used = reader.read(buffer);
    if (used === 0) break;
    if (reply.write(buffer.subarray(0, used))) {
      await nextTurn(); // others want to be served, too
      continue;
    }
    const timer = clock.schedule(STALL_MS, () => reply.destroy());
    await reply.drained();
    timer.cancel();
    if (reply.gone) return;
  }
  for (const buffer of buffers) spare.give(buffer);
  reply.end();
}
