/** A request whose connection is in the HTTP thread, and its response, as an `Exchange`. */
import { Readable } from "node:stream";
import { type Deferred, deferred } from "#lib/async/deferred.ts";
import { CLIENT_GONE, ClientDisconnect } from "#lib/http/client-disconnect.ts";
import type { Deadline } from "../http/deadlines.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Peer } from "../request/request.ts";
import type { OutgoingHeaders } from "../response/answer.ts";
import type { ChunkBytes } from "../response/byte-chunk.ts";
import { Channel, type ChannelListener, type Wire } from "./channel.ts";
import type { RequestHead } from "./messages.ts";
import { RequestBodyQueue } from "./request-body-queue.ts";

/** "follows": it is streamed; "late": it did not arrive in time; "unread": it must be requested. */
export type ThreadBody = Buffer | "too long" | "late" | "follows" | "unread";

export class ThreadExchange implements Exchange, ChannelListener {
  readonly peer: Peer;
  auditId: string | undefined = undefined;
  deadline: Deadline | undefined = undefined;
  started = false;
  readonly #head: RequestHead;
  readonly #outbox: Wire["outbox"];
  readonly #channel: Channel;
  readonly #body: ThreadBody;
  readonly #disconnect = new ClientDisconnect();
  #stream: Readable | undefined;
  #bodyQueue: RequestBodyQueue | undefined;
  #reading: Deferred<Uint8Array | undefined> | undefined;

  constructor(head: RequestHead, peer: Peer, body: ThreadBody, wire: Wire) {
    this.peer = peer;
    this.#head = head;
    this.#outbox = wire.outbox;
    this.#channel = new Channel(head.id, wire);
    this.#body = body;
    if (body !== "follows") return;
    const stream = new Readable({ read: () => bodyQueue.read() });
    const bodyQueue = new RequestBodyQueue(this.#channel, (bytes) => stream.push(bytes));
    [this.#stream, this.#bodyQueue] = [stream, bodyQueue];
  }

  get method(): string {
    return this.#head.method;
  }
  get url(): string {
    return this.#head.url;
  }
  get headers(): RequestHead["headers"] {
    return this.#head.headers;
  }
  get rawHeaders(): readonly string[] {
    return this.#head.rawHeaders;
  }
  get signal(): AbortSignal {
    return this.#disconnect.signal;
  }
  get gone(): boolean {
    return this.#disconnect.gone;
  }
  get bodyStream(): Readable {
    this.#stream ??= Readable.from(typeof this.#body === "string" ? [] : [this.#body]);
    return this.#stream;
  }

  authenticated(): void {
    if (this.peer.certificate === undefined && !this.gone) {
      this.#outbox.put({ form: "authenticated", id: this.#head.id });
    }
  }

  onGone(listener: () => void): void {
    this.#disconnect.onLeave(listener);
  }

  async readBody(): Promise<Uint8Array | undefined> {
    if (this.#body === "follows")
      throw new Error("a streamed request body cannot be read as a whole");
    if (this.#body === "unread") return this.#askForBody();
    return typeof this.#body === "string" ? undefined : this.#body;
  }

  send(code: number, headers: OutgoingHeaders, bytes: Uint8Array): void {
    if (this.gone) return;
    this.#begin();
    const body = this.#outbox.add(bytes);
    this.#channel.sayLast({ form: "answer", id: this.#head.id, code, headers, body });
    this.left();
  }

  start(code: number, headers: OutgoingHeaders): void {
    if (this.gone) return;
    this.#begin();
    this.#outbox.put({ form: "start", id: this.#head.id, code, headers });
  }

  write(bytes: Uint8Array): boolean {
    return !this.gone && this.#channel.write(bytes);
  }

  writeChunk(bytes: ChunkBytes): boolean {
    return !this.gone && this.#channel.writeChunk(bytes);
  }

  drained(): Promise<void> {
    return new Promise((resolve) => this.#channel.drained(resolve));
  }

  end(): void {
    this.#finish("end");
  }

  destroy(): void {
    this.#finish("destroy");
  }

  data(bytes: Buffer | null): void {
    this.#bodyQueue?.add(bytes);
  }

  body(bytes: Buffer | undefined): void {
    this.#reading?.resolve(bytes);
  }

  taken(count: number): void {
    this.#channel.taken(count);
  }

  left(): void {
    this.deadline?.end();
    this.#disconnect.leave();
    this.#reading?.reject(CLIENT_GONE);
    this.#channel.left();
    if (this.#bodyQueue !== undefined) this.#stream?.destroy();
  }

  #askForBody(): Promise<Uint8Array | undefined> {
    if (this.gone) return Promise.reject(CLIENT_GONE);
    if (this.#reading === undefined) {
      this.#reading = deferred();
      this.#channel.say({ form: "read body", id: this.#head.id });
    }
    return this.#reading.promise;
  }

  #begin(): void {
    if (this.started) throw new Error("an answer has begun already");
    this.started = true;
  }

  #finish(form: "end" | "destroy"): void {
    if (this.gone) return;
    this.#channel.sayLast({ form, id: this.#head.id });
    this.left();
  }
}
