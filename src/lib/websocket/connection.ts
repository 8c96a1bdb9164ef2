/**
 * The messages of an open WebSocket (a connection of the library `ws`).
 *
 * Promises:
 * 1. Messages come whole, whatever frames they were sent in.
 * 2. A slow reader slows the sender down: while messages wait, nothing is read from the socket.
 * 3. Before the socket is closed both sides have sent a close frame, or `ws` gave up waiting for it.
 */
import type { RawData, WebSocket } from "ws";

export interface Message {
  readonly text: boolean;
  readonly data: Buffer;
}

const NORMAL = 1000;
/** `send` resolves at once while fewer bytes than this wait to be written. */
const BUFFERED_BYTES_MAX = 64 * 1024;

export class WebSocketConnection {
  readonly #ws: WebSocket;
  /** Messages of the last chunk that was read from the socket. */
  #waiting: Message[] = [];
  #wake: (() => void) | undefined;
  #discards = false;
  #over = false;
  #error: Error | undefined;

  /** Call it in the turn in which the WebSocket opens: later, its first messages could be lost. */
  constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.pause();
    ws.on("message", (data, isBinary) => this.#take({ text: !isBinary, data: bufferOf(data) }));
    ws.on("error", (error) => {
      this.#error = error;
      ws.resume(); // so that the other side's close frame is read
    });
    ws.on("close", () => {
      this.#over = true;
      this.#wake?.();
    });
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  /** Until either side ends; throws if the other side broke the protocol. May be read once. */
  async *messages(): AsyncGenerator<Message, void, undefined> {
    for (;;) {
      const batch = this.#waiting;
      this.#waiting = [];
      yield* batch;
      if (this.#waiting.length > 0) continue;
      if (this.#over) break;
      this.#ws.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#error !== undefined) throw this.#error;
  }

  /** Resolves when there is room for more, or the connection is closed. */
  send(data: Uint8Array, text = false): Promise<void> {
    if (!this.isOpen) return Promise.resolve();
    return new Promise((resolve) => {
      this.#ws.send(data, { binary: !text }, () => resolve());
      if (this.#ws.bufferedAmount < BUFFERED_BYTES_MAX) resolve();
    });
  }

  ping(): void {
    if (this.isOpen) this.#ws.ping();
  }

  /** Sends a close frame. What the other side sends before its own is discarded. */
  close(): void {
    this.#discards = true;
    this.#ws.close(NORMAL);
    this.#ws.resume();
  }

  destroy(): void {
    this.#ws.terminate();
  }

  #take(message: Message): void {
    if (this.#discards) return;
    this.#waiting.push(message);
    this.#ws.pause();
    this.#wake?.();
  }
}

function bufferOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
