/** Sends a list piece by piece, as fast as the client reads. */
import type { Clock } from "#lib/clock.ts";
import { nextTurn } from "#lib/next-turn.ts";
import type { ObjectList, OutgoingHeaders } from "./answer.ts";
import type { Reply } from "./http-exchange.ts";
import { jsonPieces, type Pieces, protobufPieces } from "./list-pieces.ts";
import { MEDIA_TYPES, type Media } from "./negotiate.ts";
import type { ZippedLists } from "./zipped-lists.ts";

const GZIP_BYTES_MIN = 128 * 1024;
/** Sent in one go up to here. */
const WHOLE_BYTES_MAX = 512 * 1024;
/** A client that reads nothing for so long is given up. */
const STALL_MS = 60_000;

export interface ListSender {
  readonly zipped: ZippedLists;
  readonly clock: Clock;
}

/** Whether a list goes out as its items lie there. */
export function isPlainList({ encoding, pretty, as }: Media): boolean {
  return as === undefined && (encoding === "protobuf" || (encoding === "json" && !pretty));
}

export async function sendList(
  { zipped, clock }: ListSender,
  list: ObjectList,
  { encoding }: Media,
  code: number,
  headers: OutgoingHeaders,
  acceptsGzip: boolean,
  reply: Reply,
): Promise<void> {
  const pieces = encoding === "protobuf" ? protobufPieces(list) : jsonPieces(list);
  const typed = { ...headers, "content-type": MEDIA_TYPES[encoding] };
  if (acceptsGzip && pieces.length > GZIP_BYTES_MIN) {
    const what = `${encoding} ${list.kind.apiVersion} ${list.place}`;
    const bytes = await zipped.of(what, list.state, pieces);
    reply.send(code, { ...typed, "content-encoding": "gzip", vary: "Accept-Encoding" }, bytes);
    return;
  }
  if (pieces.length <= WHOLE_BYTES_MAX) {
    reply.send(code, typed, Buffer.concat([...pieces], pieces.length));
    return;
  }
  reply.start(code, { ...typed, "content-length": String(pieces.length) });
  await writeAll(pieces, clock, reply);
}

async function writeAll(pieces: Pieces, clock: Clock, reply: Reply): Promise<void> {
  for (const piece of pieces) {
    if (reply.write(piece)) {
      await nextTurn(); // others want to be served, too
      continue;
    }
    const timer = clock.schedule(STALL_MS, () => reply.destroy());
    await reply.drained();
    timer.cancel();
    if (reply.gone) return;
  }
  reply.end();
}
