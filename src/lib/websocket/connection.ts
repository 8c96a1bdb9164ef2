/**
 * A WebSocket's messages over a connection whose handshake is done.
 *
 * Promises:
 * 1. Messages come whole, whatever frames they were sent in, and no longer than `MESSAGE_BYTES_MAX`.
 * 2. Pings are answered; the end is agreed on by both sides before the connection is closed.
 * 3. Who reads slowly slows the sender down.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Duplex } from "node:stream";
import { drained } from "../drained.ts";
import { applyMask, encodeFrame, type FrameHead, type Opcode, readFrameHead } from "./frames.ts";

export interface Message {
  readonly text: boolean;
  readonly data: Buffer;
}

const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
const ACCEPT_SALT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const NORMAL = 1000;

/** What a server answers to `Sec-WebSocket-Key`. */
export function acceptKey(key: string): string {
  return createHash("sha1")
    .update(key + ACCEPT_SALT)
    .digest("base64");
}

export class WebSocketConnection {
  readonly #socket: Duplex;
  /** Clients mask what they send. */
  readonly #masks: boolean;
  #head: Buffer;
  #closed = false;

  /** `head`: what was read beyond the handshake already. */
  constructor(socket: Duplex, head: Buffer, role: "client" | "server") {
    this.#socket = socket;
    this.#masks = role === "client";
    this.#head = head;
    socket.on("error", () => socket.destroy());
  }

  /** Until either side ends. May be read once. */
  async *messages(): AsyncGenerator<Message, void, undefined> {
    let opcode: Opcode = "binary";
    let parts: Buffer[] = [];
    let length = 0;
    for await (const [head, payload] of this.#frames()) {
      if (head.opcode === "close") {
        this.#sendClose(payload.length >= 2 ? payload.subarray(0, 2) : undefined);
        return;
      }
      if (head.opcode === "ping") this.#write(this.#frame("pong", payload));
      if (head.opcode === "ping" || head.opcode === "pong") continue;
      if (head.opcode !== "continuation") opcode = head.opcode;
      parts.push(payload);
      length += payload.length;
      if (length > MESSAGE_BYTES_MAX) throw new Error("a WebSocket message is too long");
      if (!head.final) continue;
      yield {
        text: opcode === "text",
        data: parts.length === 1 ? parts[0]! : Buffer.concat(parts),
      };
      parts = [];
      length = 0;
    }
  }

  /** Resolves when there is room for more. */
  async send(data: Uint8Array, text = false): Promise<void> {
    if (this.#closed) return;
    if (!this.#write(this.#frame(text ? "text" : "binary", data))) await drained(this.#socket);
  }

  ping(): void {
    this.#write(this.#frame("ping", new Uint8Array(0)));
  }

  close(): void {
    const code = Buffer.alloc(2);
    code.writeUInt16BE(NORMAL);
    this.#sendClose(code);
  }

  destroy(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #sendClose(code: Buffer | undefined): void {
    if (this.#closed) return;
    this.#write(this.#frame("close", code ?? new Uint8Array(0)));
    this.#closed = true;
    this.#socket.end();
  }

  async *#frames(): AsyncGenerator<[FrameHead, Buffer], void, undefined> {
    let bytes = this.#head;
    this.#head = Buffer.alloc(0);
    for await (const chunk of chunksFrom(this.#socket)) {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      for (;;) {
        const head = readFrameHead(bytes);
        if (head === undefined) break;
        const { headBytes, payloadBytes, mask } = head;
        if (payloadBytes > MESSAGE_BYTES_MAX) throw new Error("a WebSocket frame is too long");
        if (bytes.length < headBytes + payloadBytes) break;
        const payload = bytes.subarray(headBytes, headBytes + payloadBytes);
        bytes = bytes.subarray(headBytes + payloadBytes);
        if (mask !== undefined) applyMask(payload, mask);
        yield [head, payload];
      }
    }
  }

  #frame(opcode: Opcode, payload: Uint8Array): Buffer {
    return encodeFrame(opcode, payload, this.#masks ? randomBytes(4) : undefined);
  }

  #write(frame: Buffer): boolean {
    if (this.#closed || this.#socket.destroyed || this.#socket.writableEnded) return true;
    return this.#socket.write(frame);
  }
}

/** What the socket brings, begun with nothing so that bytes read before are looked at at once. */
async function* chunksFrom(socket: Duplex): AsyncGenerator<Buffer, void, undefined> {
  yield Buffer.alloc(0);
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
  } catch {
    // the other side is gone, which is an end too
  }
}
