/**
 * The HTTP server in a worker thread. TLS, HTTP and writing responses to many watchers take about as
 * much CPU time as everything else that a small request needs, so a second core can take them over.
 *
 * The thread starts before `listen` is called, so that it is ready when the API server is.
 */
import type { Worker } from "node:worker_threads";
import { startWorker } from "#lib/async/start-worker.ts";
import { ExchangeRunner } from "../http/exchange-runner.ts";
import type { HttpServer, HttpServerOptions } from "../http/http-server.ts";
import type { Peer } from "../request/request.ts";
import type { ChannelListener, Wire } from "./channel.ts";
import { MainThreadOutbox } from "./main-thread-outbox.ts";
import type { Batch, FromHttpThread, RequestHead, Slice } from "./messages.ts";
import { unpack } from "./outbox.ts";
import { ThreadExchange } from "./thread-exchange.ts";
import { ThreadSocket } from "./thread-socket.ts";

export interface HttpThread extends AsyncDisposable {
  /** May be called once. */
  listen(options: HttpServerOptions): Promise<HttpServer>;
}

export function startHttpThread(): HttpThread {
  const worker = startWorker("http-thread", new URL("./worker.ts", import.meta.url));
  const terminate = async (): Promise<void> => void (await worker.terminate());
  return {
    listen: async (options) => {
      try {
        return await new MainThread(worker, options).start();
      } catch (error) {
        await terminate();
        throw error;
      }
    },
    [Symbol.asyncDispose]: terminate,
  };
}

class MainThread implements Wire {
  readonly outbox: MainThreadOutbox;
  readonly #worker: Worker;
  readonly #options: HttpServerOptions;
  readonly #runner: ExchangeRunner;
  readonly #peers = new Map<number, Peer>();
  readonly #open = new Map<number, ChannelListener>();
  #listening: ((message: FromHttpThread) => void) | undefined;
  #closed: (() => void) | undefined;

  constructor(worker: Worker, options: HttpServerOptions) {
    this.#worker = worker;
    this.#options = options;
    this.#runner = new ExchangeRunner(options);
    // Responses of the same tick, such as all writes of one commit, go in one batch.
    this.outbox = new MainThreadOutbox(worker, (flush) => process.nextTick(flush));
  }

  start(): Promise<HttpServer> {
    const { tls, host, port, idleMaxMs, timeoutMs, http2, streamsMax, goawayChance } =
      this.#options;
    this.#worker.on("message", (batch: Batch<FromHttpThread>) =>
      unpack(batch, (message, bytesAt) => this.#take(message, bytesAt)),
    );
    const limits = {
      ...(http2 === undefined ? {} : { http2 }),
      ...(streamsMax === undefined ? {} : { streamsMax }),
      ...(goawayChance === undefined ? {} : { goawayChance }),
      ...(idleMaxMs === undefined ? {} : { idleMaxMs }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
    this.outbox.put({ form: "listen", options: { tls, host, port, ...limits } });
    return new Promise((resolve, reject) => {
      this.#worker.once("error", reject); // after the start such an error ends the process
      this.#listening = (message) => {
        this.#worker.off("error", reject);
        if (message.form === "listening") resolve(this.#server(message.port));
        else if (message.form === "failed") reject(failureOf(message));
      };
    });
  }

  forget(id: number): void {
    this.#open.delete(id);
  }

  #server(port: number): HttpServer {
    return {
      port,
      renew: (tls) => this.outbox.put({ form: "renew", tls }),
      drain: () => this.outbox.put({ form: "drain" }),
      close: async (graceMs) => {
        const closed = new Promise<void>((resolve) => {
          this.#closed = resolve;
        });
        this.outbox.put({ form: "close", graceMs });
        await closed;
        await this.#worker.terminate();
      },
    };
  }

  #take(message: FromHttpThread, bytesAt: (slice: Slice) => Buffer): void {
    switch (message.form) {
      case "request": {
        const { head, body } = message;
        const sent = typeof body === "string" ? body : bytesAt(body);
        const exchange = new ThreadExchange(head, this.#peerOf(head), sent, this);
        this.#open.set(head.id, exchange);
        if (body === "late") this.#runner.expire(exchange);
        else this.#runner.run(exchange);
        return;
      }
      case "upgrade":
        this.#upgrade(message.head, bytesAt(message.sent));
        return;
      case "connected":
        this.#peers.set(message.connection, message.peer);
        return;
      case "disconnected":
        this.#peers.delete(message.connection);
        return;
      case "handshake failed":
        this.#options.handshakeFailed?.();
        return;
      case "data":
        this.#open.get(message.id)?.data(message.bytes === null ? null : bytesAt(message.bytes));
        return;
      case "body": {
        const { id, bytes } = message;
        this.#open.get(id)?.body?.(typeof bytes === "string" ? undefined : bytesAt(bytes));
        return;
      }
      case "taken":
        this.#open.get(message.id)?.taken(message.count);
        return;
      case "ended":
        this.#open.get(message.id)?.ended?.();
        return;
      case "gone": {
        const listener = this.#open.get(message.id);
        this.#open.delete(message.id);
        listener?.left();
        return;
      }
      case "log":
        this.#options.logger[message.level](message.message, { error: message.error });
        return;
      case "closed":
        this.#closed?.();
        return;
      default:
        this.#listening?.(message);
    }
  }

  #peerOf({ connection }: RequestHead): Peer {
    return this.#peers.get(connection)!; // "connected" is sent before the first request
  }

  #upgrade(head: RequestHead, sent: Buffer): void {
    const socket = new ThreadSocket(head.id, this);
    this.#open.set(head.id, socket);
    this.#runner.join(head, this.#peerOf(head), socket, sent);
  }
}

function failureOf({ message, code }: { message: string; code: string | undefined }): Error {
  return Object.assign(new Error(message), { code });
}
