/**
 * A connection of HTTP/2 that knows just what the benchmark needs: requests without a body, one at a
 * time, responses that are not kept. Node's own client costs more than the server that is measured.
 */
import type { TLSSocket } from "node:tls";
import type { Ask, Requester } from "./load.ts";
import { connectTls, type Identity } from "./tls-identity.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const TYPE = { data: 0, headers: 1, reset: 3, settings: 4, goAway: 7, window: 8 } as const;
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const WINDOW_MAX = 2 ** 31 - 1;
const SETTING = { headerTableSize: 1, initialWindow: 4 } as const;
/** Entries of HPACK's static table. */
const INDEXED_GET = 0x82;
const INDEXED_HTTPS = 0x87;
const INDEXED_200 = 0x88;
const NAME = { authority: 1, path: 4 } as const;
const TABLE_SIZE_UPDATE = 0x20;

export async function openHttp2(port: number, identity: Identity): Promise<Requester> {
  let pending: { resolve(body: Buffer): void; reject(error: Error): void } | undefined;
  let rest: Buffer = Buffer.alloc(0);
  let stream = -1;
  let ok = false;
  let unacknowledged = 0;
  const onFrame = (
    socket: TLSSocket,
    type: number,
    flags: number,
    payload: Buffer,
    length: number,
  ): void => {
    if (type === TYPE.settings && (flags & ACK) === 0) socket.write(frame(type, ACK, 0, NOTHING));
    if (type === TYPE.reset || type === TYPE.goAway) pending?.reject(new Error("refused"));
    if (type === TYPE.headers) ok = payload.subarray(0, 3).includes(INDEXED_200);
    if (type === TYPE.data) {
      unacknowledged += length;
      if (unacknowledged > WINDOW_MAX / 2) {
        socket.write(windowUpdate(unacknowledged));
        unacknowledged = 0;
      }
    }
    if ((type !== TYPE.headers && type !== TYPE.data) || (flags & END_STREAM) === 0) return;
    if (ok) pending!.resolve(NOTHING);
    else pending!.reject(new Error(payload.toString().slice(0, 500)));
  };
  // Of a DATA frame that is split over several reads only the length counts: it is not joined.
  let missing = 0;
  let cut: { readonly flags: number; readonly length: number } | undefined;
  const onData = (chunk: Buffer, socket: TLSSocket): void => {
    let at = Math.min(missing, chunk.length);
    missing -= at;
    if (missing > 0) return;
    if (cut !== undefined) onFrame(socket, TYPE.data, cut.flags, NOTHING, cut.length);
    cut = undefined;
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (all.length - at >= 9) {
      const length = all.readUIntBE(at, 3);
      const [type, flags] = [all[at + 3]!, all[at + 4]!];
      const end = at + 9 + length;
      if (all.length < end) {
        if (type !== TYPE.data) break;
        cut = { flags, length };
        missing = end - all.length;
        rest = NOTHING;
        return;
      }
      onFrame(socket, type, flags, all.subarray(at + 9, end), length);
      at = end;
    }
    rest = at === all.length ? NOTHING : Buffer.from(all.subarray(at));
  };
  const socket = await connectTls(port, identity, "h2", onData);
  const settings = Buffer.alloc(12);
  settings.writeUInt16BE(SETTING.headerTableSize, 0);
  settings.writeUInt16BE(SETTING.initialWindow, 6);
  settings.writeUInt32BE(WINDOW_MAX, 8);
  socket.write(Buffer.concat([PREFACE, frame(TYPE.settings, 0, 0, settings)]));
  socket.write(windowUpdate(WINDOW_MAX - 65_535));

  socket.on("error", (error) => pending?.reject(error));
  socket.on("close", () => pending?.reject(new Error("the connection was closed")));
  return {
    ask: ({ path }: Ask) => {
      stream += 2;
      socket.write(frame(TYPE.headers, END_STREAM | END_HEADERS, stream, requestHead(path)));
      return new Promise((resolve, reject) => {
        pending = { resolve, reject };
      });
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

const NOTHING = Buffer.alloc(0);

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function windowUpdate(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(TYPE.window, 0, 0, payload);
}

function requestHead(path: string): Buffer {
  return Buffer.concat([
    Buffer.from([TABLE_SIZE_UPDATE, INDEXED_GET, INDEXED_HTTPS]),
    literal(NAME.path, path),
    literal(NAME.authority, "127.0.0.1"),
  ]);
}

/** Without indexing; texts of up to 126 bytes. */
function literal(nameIndex: number, value: string): Buffer {
  if (value.length > 126) throw new Error(`too long for this client: ${value}`);
  return Buffer.concat([Buffer.from([nameIndex, value.length]), Buffer.from(value)]);
}
