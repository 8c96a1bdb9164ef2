/**
 * SPDY/3.1 over one connection, as Kubernetes uses it: many streams in both directions, each opened
 * with a few headers.
 *
 * Promises:
 * 1. A stream is an ordinary Duplex: ending it ends one direction, destroying it resets it.
 * 2. Who reads a stream slowly slows the connection down, since there are no windows (upstream's
 *    implementation has none either); nothing is buffered without bound.
 * 3. When the connection ends or the peer resets a stream, what came in before can still be read;
 *    writing fails.
 */
import { Duplex } from "node:stream";
import { drained } from "../async/drained.ts";
import {
  dataFrame,
  FIN,
  FRAME_BYTES_MAX,
  FRAME_HEAD_BYTES,
  type FrameHead,
  goAway,
  ping,
  RST,
  readFrameHead,
  rstStream,
  synReply,
  synStream,
} from "./frames.ts";
import { HeaderReader, HeaderWriter, type SpdyHeaders } from "./header-block.ts";

export interface SpdyStream {
  readonly id: number;
  readonly headers: SpdyHeaders;
  readonly duplex: Duplex;
}

export interface SpdyOptions {
  readonly role: "client" | "server";
  /** A stream that the peer opened; it is accepted. */
  onStream?(stream: SpdyStream): void;
}

interface Open extends SpdyStream {
  /** Called when the peer answers our opening, or refuses. */
  answered?: { resolve(): void; reject(why: Error): void };
  /** Resolved when the reader wants more. */
  resume: (() => void) | undefined;
  sentFin: boolean;
  gotFin: boolean;
}

const CLOSED = "the SPDY connection is closed";
const STREAMS_MAX = 10_000;
const DATA_BYTES_MAX = 32 * 1024;

export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #options: SpdyOptions;
  readonly #streams = new Map<number, Open>();
  readonly #writer = new HeaderWriter();
  readonly #reader = new HeaderReader();
  /** Resolves when the connection is over. */
  readonly done: Promise<void>;
  #nextId: number;
  #lastPeerId = 0;
  #ended = false;

  /** `head`: what was read beyond the upgrade already. */
  constructor(socket: Duplex, head: Buffer, options: SpdyOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#nextId = options.role === "client" ? 1 : 2;
    socket.on("error", () => socket.destroy());
    this.done = this.#run(head).finally(() => this.#end());
  }

  /** Resolves when the peer has agreed. */
  async open(headers: SpdyHeaders): Promise<SpdyStream> {
    if (this.#ended) throw new Error(CLOSED);
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#add(id, headers);
    const agreed = new Promise<void>((resolve, reject) => {
      stream.answered = { resolve, reject };
    });
    this.#send(synStream(id, this.#writer.encode(headers), 0));
    await agreed;
    return stream;
  }

  ping(id: number): void {
    this.#send(ping(id));
  }

  /** Says goodbye and closes; what was written before still goes out. */
  close(): void {
    if (this.#ended) return;
    this.#send(goAway(this.#lastPeerId));
    this.#socket.end();
  }

  async #run(head: Buffer): Promise<void> {
    const chunks: Buffer[] = head.length > 0 ? [head] : [];
    let have = head.length;
    let wanted: FrameHead | undefined;
    const handle = async (): Promise<void> => {
      for (;;) {
        const need = wanted === undefined ? FRAME_HEAD_BYTES : wanted.length;
        if (have < need) return;
        const bytes = take(chunks, need);
        have -= need;
        if (wanted === undefined) {
          wanted = readFrameHead(bytes);
          if (wanted.length > FRAME_BYTES_MAX) throw new Error("a SPDY frame is too long");
        } else {
          const frame = wanted;
          wanted = undefined;
          await this.#frame(frame, bytes);
        }
      }
    };
    try {
      await handle();
      for await (const chunk of this.#socket) {
        chunks.push(chunk as Buffer);
        have += (chunk as Buffer).length;
        await handle();
      }
    } catch {
      this.#socket.destroy(); // a protocol error, or the connection is gone
    }
  }

  async #frame(head: FrameHead, payload: Buffer): Promise<void> {
    switch (head.type) {
      case "data":
        return await this.#data(head, payload);
      case "syn-stream":
        return await this.#opened(head, payload);
      case "syn-reply": {
        await this.#reader.decode(payload.subarray(4)); // keeps the decompressor in step
        const stream = this.#streams.get(payload.readUInt32BE(0));
        stream?.answered?.resolve();
        if (stream !== undefined && (head.flags & FIN) !== 0) this.#finish(stream);
        return;
      }
      case "headers":
        await this.#reader.decode(payload.subarray(4));
        return;
      case "rst-stream":
        return this.#reset(payload.readUInt32BE(0));
      case "ping":
        return this.#pinged(payload.readUInt32BE(0));
      case "goaway":
        this.#socket.end();
        return;
      default:
        return; // SETTINGS and WINDOW_UPDATE are ignored
    }
  }

  async #data({ streamId, flags }: FrameHead, payload: Buffer): Promise<void> {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (payload.length > 0 && !stream.duplex.destroyed && !stream.duplex.push(payload)) {
      await new Promise<void>((resolve) => {
        stream.resume = resolve;
      });
    }
    if ((flags & FIN) !== 0) this.#finish(stream);
  }

  async #opened(head: FrameHead, payload: Buffer): Promise<void> {
    const id = payload.readUInt32BE(0) & 0x7f_ff_ff_ff;
    const headers = await this.#reader.decode(payload.subarray(10));
    const { onStream } = this.#options;
    const mine = id % 2 === this.#nextId % 2;
    if (mine || id <= this.#lastPeerId || onStream === undefined) {
      this.#send(rstStream(id, RST.protocolError));
      return;
    }
    this.#lastPeerId = id;
    if (this.#streams.size >= STREAMS_MAX) {
      this.#send(rstStream(id, RST.refused));
      return;
    }
    const stream = this.#add(id, headers);
    this.#send(synReply(id, this.#writer.encode({}), 0));
    onStream(stream);
    if ((head.flags & FIN) !== 0) this.#finish(stream);
  }

  #reset(id: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    this.#drop(stream, "Stream reset");
  }

  #pinged(id: number): void {
    const mine = id % 2 === (this.#options.role === "client" ? 1 : 0);
    if (!mine) this.#send(ping(id));
  }

  #finish(stream: Open): void {
    if (stream.gotFin) return;
    stream.gotFin = true;
    stream.duplex.push(null);
    this.#forgetIfOver(stream);
  }

  #forgetIfOver(stream: Open): void {
    if (stream.gotFin && stream.sentFin) this.#streams.delete(stream.id);
  }

  #add(id: number, headers: SpdyHeaders): Open {
    const duplex = new Duplex({
      allowHalfOpen: true,
      emitClose: true,
      read: () => {
        stream.resume?.();
        stream.resume = undefined;
      },
      write: (chunk: Buffer, _encoding, callback) => this.#write(id, chunk, callback),
      final: (callback) => {
        stream.sentFin = true;
        this.#send(...dataFrame(id, new Uint8Array(0), FIN));
        this.#forgetIfOver(stream);
        callback();
      },
      destroy: (error, callback) => {
        stream.resume?.();
        if (this.#streams.delete(id)) this.#send(rstStream(id, RST.cancel));
        callback(error);
      },
    });
    duplex.on("error", () => undefined); // who uses the stream may listen too
    const stream: Open = {
      id,
      headers,
      duplex,
      resume: undefined,
      sentFin: false,
      gotFin: false,
    };
    this.#streams.set(id, stream);
    return stream;
  }

  #write(id: number, chunk: Buffer, callback: (error?: Error | null) => void): void {
    if (!this.#streams.has(id)) {
      callback(new Error("the SPDY stream was reset"));
      return;
    }
    let room = true;
    for (let at = 0; at < chunk.length; at += DATA_BYTES_MAX) {
      room = this.#send(...dataFrame(id, chunk.subarray(at, at + DATA_BYTES_MAX), 0));
    }
    if (room || this.#socket.destroyed) callback();
    else void drained(this.#socket).then(() => callback());
  }

  #send(...parts: readonly Buffer[]): boolean {
    if (this.#socket.destroyed || this.#socket.writableEnded) return true;
    let room = true;
    for (const part of parts) if (part.length > 0) room = this.#socket.write(part);
    return room;
  }

  #end(): void {
    this.#ended = true;
    this.#reader.close();
    for (const stream of this.#streams.values()) this.#drop(stream, CLOSED);
    this.#socket.destroy();
  }

  /** What came in before may still be read. */
  #drop(stream: Open, why: string): void {
    this.#streams.delete(stream.id);
    stream.answered?.reject(new Error(why));
    stream.resume?.();
    if (!stream.gotFin) stream.duplex.push(null);
    stream.gotFin = true;
  }
}

/** Removes the first `length` bytes from the chunks. */
function take(chunks: Buffer[], length: number): Buffer {
  const first = chunks[0];
  if (first !== undefined && first.length > length) {
    chunks[0] = first.subarray(length);
    return first.subarray(0, length);
  }
  if (first !== undefined && first.length === length) {
    chunks.shift();
    return first;
  }
  const all = Buffer.concat(chunks);
  chunks.length = 0;
  if (all.length > length) chunks.push(all.subarray(length));
  return all.subarray(0, length);
}
