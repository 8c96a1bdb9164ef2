/**
 * What each request goes through wherever its connection is: it has its time, and a fault in the
 * server neither leaves the client waiting nor ends the process.
 */
import type { Duplex } from "node:stream";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Peer } from "../request/request.ts";
import { askedTimeoutMs, Deadlines } from "./deadlines.ts";
import type { Exchange, HttpRequest, Reply } from "./exchange.ts";

export interface AnswererOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** After so long, and with as much of an answer as there is, a request is handed to `expire`. */
  readonly timeoutMs?: number;
  expire?(request: HttpRequest, reply: Reply): void;
  handle(request: HttpRequest, reply: Reply): Promise<void>;
  /** A connection that wants to speak another protocol. The handler owns the socket. */
  upgrade(request: UpgradeRequest, peer: Peer, socket: Duplex, sent: Buffer): Promise<void>;
}

export type UpgradeRequest = Pick<HttpRequest, "method" | "url" | "headers" | "rawHeaders"> &
  Partial<Pick<HttpRequest, "authenticated">>;

export class Answerer {
  readonly #options: AnswererOptions;
  readonly #deadlines: Deadlines<Exchange>;

  constructor(options: AnswererOptions) {
    const { clock, timeoutMs = 0 } = options;
    this.#options = options;
    this.#deadlines = new Deadlines(clock, timeoutMs, (exchange) => this.expire(exchange));
  }

  run(exchange: Exchange): void {
    const { handle, logger } = this.#options;
    exchange.deadline = this.#deadlines.begin(exchange, askedTimeoutMs(exchange.url));
    if (exchange.started) return; // no time at all was given
    handle(exchange, exchange).catch((error: unknown) => {
      if (!exchange.gone) logger.error("answering failed", { error, url: exchange.url });
      exchange.destroy();
    });
  }

  /** Its time is over. */
  expire(exchange: Exchange): void {
    this.#options.expire?.(exchange, exchange);
  }

  /** All connections have ended. */
  stop(): void {
    this.#deadlines.stop();
  }

  /** Lets a connection change its protocol. */
  join(request: UpgradeRequest, peer: Peer, socket: Duplex, sent: Buffer): void {
    const { upgrade, logger } = this.#options;
    socket.on("error", () => undefined);
    upgrade(request, peer, socket, sent).catch((error: unknown) => {
      logger.debug("an upgraded connection failed", { error });
      socket.destroy();
    });
  }
}
