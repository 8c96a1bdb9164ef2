/**
 * Runs in the HTTP thread: the HTTP server, which hands requests to the main thread and writes its
 * responses. It makes no decisions.
 */
import type { Duplex, Readable } from "node:stream";
import type { MessagePort } from "node:worker_threads";
import { drained } from "#lib/async/drained.ts";
import { nextTurn } from "#lib/async/next-turn.ts";
import { codeOf, messageOf } from "#lib/caught.ts";
import { type Logger, silentLogger } from "#lib/logger.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { AHEAD_BYTES_MAX, type HttpRequest, type Reply } from "../http/exchange.ts";
import type { UpgradeRequest } from "../http/exchange-runner.ts";
import { type HttpServer, startHttpServer } from "../http/http-server.ts";
import { hasSmallBody } from "../http/read-body.ts";
import { streamsRequestBody } from "../http/streams-request-body.ts";
import type { Peer } from "../request/request.ts";
import { chunkOf } from "../response/byte-chunk.ts";
import {
  type Batch,
  type FromHttpThread,
  type FromMainThread,
  type ListenOptions,
  REPORT_BYTES_MIN,
  type RequestHead,
  type Slice,
} from "./messages.ts";
import { Outbox, unpack } from "./outbox.ts";

export function serveHttpThread(port: MessagePort): void {
  const server = new HttpThreadServer(port);
  port.on("message", (batch: Batch<FromMainThread>) =>
    unpack(batch, (message, bytesAt) => server.take(message, bytesAt)),
  );
}

/** Where bytes from the main thread go: a streaming response, or an upgraded connection. */
interface Outgoing {
  readonly request?: HttpRequest;
  readonly reply: Reply | undefined;
  readonly to: Pick<Reply, "write" | "drained" | "end" | "destroy">;
  /** Written to the connection, but not reported to the main thread yet. */
  unreportedBytes: number;
  /** Waits for the connection to drain. */
  waiting: boolean;
}

/** A stream from a client, paused while the main thread does not consume it. */
interface Incoming {
  readonly source: Readable;
  aheadBytes: number;
}

class HttpThreadServer {
  readonly #outbox: Outbox<FromHttpThread>;
  readonly #outgoing = new Map<number, Outgoing>();
  readonly #incoming = new Map<number, Incoming>();
  /** Requests whose bodies the main thread has not asked for. */
  readonly #unread = new Map<number, HttpRequest>();
  /** Requests whose bodies are still arriving. */
  readonly #slow = new Map<HttpRequest, RequestHead>();
  readonly #connections = new WeakMap<Peer, number>();
  #lastId = 0;
  #server: HttpServer | undefined;

  constructor(port: MessagePort) {
    // Everything that arrived in one turn of the event loop goes in one batch.
    this.#outbox = new Outbox(port, (flush) => void nextTurn().then(flush));
  }

  take(message: FromMainThread, bytesAt: (slice: Slice) => Buffer): void {
    switch (message.form) {
      case "answer": {
        const { id, code, headers, body } = message;
        this.#last(id)?.reply?.send(code, headers, bytesAt(body));
        return;
      }
      case "start":
        this.#outgoing.get(message.id)?.reply?.start(message.code, message.headers);
        return;
      case "authenticated":
        this.#outgoing.get(message.id)?.request?.authenticated();
        return;
      case "read body":
        void this.#readBody(message.id);
        return;
      case "chunk": {
        const bytes = bytesAt(message.bytes);
        this.#write(message.id, bytes.length, ({ to }) => to.write(bytes));
        return;
      }
      case "shared chunk": {
        const bytes = chunkOf(bytesAt(message.chunk));
        const write = ({ reply }: Outgoing): boolean => reply!.writeChunk(bytes);
        for (const id of message.ids) this.#write(id, bytes.chunk.length, write);
        return;
      }
      case "end":
        this.#last(message.id)?.to.end();
        return;
      case "destroy":
        this.#last(message.id)?.to.destroy();
        return;
      case "pulled":
        this.#pulled(message.id, message.count);
        return;
      case "listen":
        void this.#listen(message.options);
        return;
      case "renew":
        this.#server?.renew(message.tls);
        return;
      case "drain":
        this.#server?.drain();
        return;
      case "close":
        void this.#server?.close(message.graceMs).then(() => this.#outbox.put({ form: "closed" }));
    }
  }

  async #listen(options: ListenOptions): Promise<void> {
    try {
      this.#server = await startHttpServer({
        ...options,
        clock: systemClock,
        random: systemRandom,
        logger: this.#logger(),
        disconnected: (peer) => this.#disconnected(peer),
        handshakeFailed: () => this.#outbox.put({ form: "handshake failed" }),
        expire: (request) => this.#late(request),
        handle: (request, reply) => this.#handle(request, reply),
        upgrade: async (request, peer, socket, sent) => this.#upgrade(request, peer, socket, sent),
      });
      this.#outbox.put({ form: "listening", port: this.#server.port });
    } catch (error) {
      const [message, code] = [messageOf(error), codeOf(error)];
      this.#outbox.put({ form: "failed", message, code });
    }
  }

  async #handle(request: HttpRequest, reply: Reply): Promise<void> {
    const head = this.#headOf(request, request.peer);
    const { id } = head;
    this.#outgoing.set(id, { request, reply, unreportedBytes: 0, waiting: false, to: reply });
    request.onGone(() => {
      this.#slow.delete(request);
      this.#unread.delete(id);
      if (this.#outgoing.delete(id)) this.#outbox.put({ form: "gone", id });
    });
    if (streamsRequestBody(request)) {
      this.#outbox.put({ form: "request", head, body: "follows" });
      this.#follow(id, request.bodyStream as Readable);
      return;
    }
    const bodiless = request.method === "GET" || request.method === "HEAD";
    if (bodiless) {
      this.#outbox.put({ form: "request", head, body: this.#outbox.add(NO_BYTES) });
      return;
    }
    if (!hasSmallBody(request)) {
      this.#unread.set(id, request);
      this.#outbox.put({ form: "request", head, body: "unread" });
      return;
    }
    this.#slow.set(request, head);
    const bytes = await request.readBody();
    if (!this.#slow.delete(request)) return;
    const body = bytes === undefined ? "too long" : this.#outbox.add(bytes);
    this.#outbox.put({ form: "request", head, body });
  }

  async #readBody(id: number): Promise<void> {
    const request = this.#unread.get(id);
    this.#unread.delete(id);
    const bytes = await request?.readBody().catch(() => null); // "gone" was sent
    if (request === undefined || bytes === null) return;
    const body = bytes === undefined ? "too long" : this.#outbox.add(bytes);
    this.#outbox.put({ form: "body", id, bytes: body });
  }

  /** Only for requests that were not handed over yet: the main thread has deadlines for the others. */
  #late(request: HttpRequest): void {
    const head = this.#slow.get(request);
    this.#slow.delete(request);
    if (head !== undefined) this.#outbox.put({ form: "request", head, body: "late" });
  }

  #upgrade(request: UpgradeRequest, peer: Peer, socket: Duplex, sent: Buffer): void {
    const head = this.#headOf(request, peer);
    const { id } = head;
    this.#outgoing.set(id, {
      reply: undefined,
      unreportedBytes: 0,
      waiting: false,
      to: this.#outflowOf(id, socket),
    });
    this.#outbox.put({ form: "upgrade", head, sent: this.#outbox.add(sent) });
    socket.on("close", () => {
      this.#outgoing.delete(id);
      this.#outbox.put({ form: "gone", id });
    });
    this.#follow(id, socket);
  }

  #outflowOf(id: number, socket: Duplex): Outgoing["to"] {
    return {
      write: (bytes) => socket.write(bytes),
      drained: () => drained(socket),
      end: () => void socket.end(() => this.#outbox.put({ form: "ended", id })),
      destroy: () => void socket.destroy(),
    };
  }

  #headOf(request: UpgradeRequest, peer: Peer): RequestHead {
    const { method, url, headers, rawHeaders } = request;
    const connection = this.#connectionOf(peer);
    this.#lastId += 1;
    return { id: this.#lastId, connection, method, url, headers, rawHeaders };
  }

  #connectionOf(peer: Peer): number {
    const known = this.#connections.get(peer);
    if (known !== undefined) return known;
    this.#lastId += 1;
    const connection = this.#lastId;
    this.#connections.set(peer, connection);
    this.#outbox.put({ form: "connected", connection, peer });
    return connection;
  }

  #disconnected(peer: Peer): void {
    const connection = this.#connections.get(peer);
    if (connection !== undefined) this.#outbox.put({ form: "disconnected", connection });
  }

  #write(id: number, length: number, write: (outgoing: Outgoing) => boolean): void {
    const outgoing = this.#outgoing.get(id);
    if (outgoing === undefined) return;
    outgoing.unreportedBytes += length;
    if (!write(outgoing)) this.#reportWhenDrained(id, outgoing);
    else if (outgoing.unreportedBytes >= REPORT_BYTES_MIN) this.#report(id, outgoing);
  }

  /** Reports the written bytes once the connection has drained. */
  #reportWhenDrained(id: number, outgoing: Outgoing): void {
    if (outgoing.waiting) return;
    outgoing.waiting = true;
    void outgoing.to.drained().then(() => {
      outgoing.waiting = false;
      this.#report(id, outgoing);
    });
  }

  #report(id: number, outgoing: Outgoing): void {
    if (outgoing.unreportedBytes === 0) return;
    this.#outbox.put({ form: "taken", id, count: outgoing.unreportedBytes });
    outgoing.unreportedBytes = 0;
  }

  /** Forwards what the client sends, paused while the main thread does not keep up. */
  #follow(id: number, source: Readable): void {
    const incoming: Incoming = { source, aheadBytes: 0 };
    this.#incoming.set(id, incoming);
    source.on("data", (bytes: Buffer) => {
      incoming.aheadBytes += bytes.length;
      this.#outbox.put({ form: "data", id, bytes: this.#outbox.add(bytes) });
      if (incoming.aheadBytes >= AHEAD_BYTES_MAX) source.pause();
    });
    source.on("end", () => this.#outbox.put({ form: "data", id, bytes: null }));
    source.on("close", () => this.#incoming.delete(id));
    source.on("error", () => undefined); // "close" follows
  }

  #pulled(id: number, count: number): void {
    const incoming = this.#incoming.get(id);
    if (incoming === undefined) return;
    incoming.aheadBytes -= count;
    if (incoming.aheadBytes < AHEAD_BYTES_MAX) incoming.source.resume();
  }

  /** Ends a response. An upgraded connection ends when it is closed. */
  #last(id: number): Outgoing | undefined {
    const outgoing = this.#outgoing.get(id);
    if (outgoing?.reply !== undefined) this.#outgoing.delete(id);
    return outgoing;
  }

  #logger(): Logger {
    const at =
      (level: "debug" | "error"): Logger["debug"] =>
      (message, fields) => {
        const { error = "" } = (typeof fields === "function" ? fields() : fields) ?? {};
        this.#outbox.put({ form: "log", level, message, error: String(error) });
      };
    return { ...silentLogger, debug: at("debug"), error: at("error") };
  }
}

const NO_BYTES = new Uint8Array(0);
