/**
 * A gRPC stream of packets that many connections share. Back-pressure in both directions: who writes
 * more than the stream takes is paused until it has drained, and the stream is not read while a
 * connection cannot take what came for it. So nothing is buffered without limit; a slow connection holds
 * the others of its stream up, as with upstream's server and agent.
 */
import type { Packet, ReadPacket } from "./packet.ts";

/** What is used of gRPC's streams, which are Node's streams of objects. */
export interface ObjectStream extends Pausable {
  on(event: string, listener: (...values: never[]) => void): unknown;
  write(packet: Packet): boolean;
  end(): unknown;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
}

export interface Pausable {
  pause(): unknown;
  resume(): unknown;
}

export class PacketStream {
  readonly #stream: ObjectStream;
  readonly #waiting = new Set<Pausable>();
  #holds = 0;
  #ended = false;

  constructor(stream: ObjectStream) {
    this.#stream = stream;
    stream.on("drain", () => {
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      for (const source of waiting) source.resume();
    });
  }

  /** `ended` is called once, with the reason if there is one. */
  start(received: (packet: ReadPacket) => void, ended: (error: Error | undefined) => void): void {
    const end = (error?: Error): void => {
      if (this.#ended) return;
      this.#ended = true;
      for (const source of this.#waiting) source.resume();
      this.#waiting.clear();
      ended(error);
    };
    this.#stream.on("data", (packet: ReadPacket) => {
      if (!this.#ended) received(packet);
    });
    this.#stream.on("error", end);
    this.#stream.on("end", () => end());
    this.#stream.on("close", () => end());
    this.#stream.on("cancelled", () => end()); // of gRPC's server streams
  }

  /** The source of the packet is paused if the stream is full. */
  send(packet: Packet, source?: Pausable): void {
    if (this.#ended || this.#stream.writableEnded || this.#stream.destroyed) return;
    if (this.#stream.write(packet) || source === undefined) return;
    source.pause();
    this.#waiting.add(source);
  }

  /** The stream is not read until every hold is released. */
  hold(): () => void {
    if (this.#holds++ === 0) this.#stream.pause();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#holds === 0) this.#stream.resume();
    };
  }

  end(): void {
    this.#stream.end();
  }
}
