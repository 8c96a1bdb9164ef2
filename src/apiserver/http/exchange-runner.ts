/**
 * Runs the handler of each request under a deadline. An exception of the handler destroys the
 * response; it neither leaves the client waiting nor ends the process.
 */
import type { Duplex } from "node:stream";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Peer } from "../request/request.ts";
import { askedTimeoutMs, Deadlines } from "./deadlines.ts";
import type { Exchange, HttpRequest, Reply } from "./exchange.ts";

export interface ExchangeRunnerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** After so long a request is handed to `expire`, whether its response was started or not. */
  readonly timeoutMs?: number;
  expire?(request: HttpRequest, reply: Reply): void;
  handle(request: HttpRequest, reply: Reply): Promise<void>;
  /** A connection upgrade. The handler owns the socket. */
  upgrade(request: UpgradeRequest, peer: Peer, socket: Duplex, sent: Buffer): Promise<void>;
}

export type UpgradeRequest = Pick<HttpRequest, "method" | "url" | "headers" | "rawHeaders"> &
  Partial<Pick<HttpRequest, "authenticated">>;

export class ExchangeRunner {
  readonly #options: ExchangeRunnerOptions;
  readonly #deadlines: Deadlines<Exchange>;

  constructor(options: ExchangeRunnerOptions) {
    const { clock, timeoutMs = 0 } = options;
    this.#options = options;
    this.#deadlines = new Deadlines(clock, timeoutMs, (exchange) => this.expire(exchange));
  }

  run(exchange: Exchange): void {
    const { handle, logger } = this.#options;
    exchange.deadline = this.#deadlines.begin(exchange, askedTimeoutMs(exchange.url));
    if (exchange.started) return; // the client asked for a timeout of 0
    handle(exchange, exchange).catch((error: unknown) => {
      if (!exchange.gone) logger.error("answering failed", { error, url: exchange.url });
      exchange.destroy();
    });
  }

  /** The deadline has passed. */
  expire(exchange: Exchange): void {
    this.#options.expire?.(exchange, exchange);
  }

  /** All connections have ended. */
  stop(): void {
    this.#deadlines.stop();
  }

  /** Hands over an upgraded connection. */
  join(request: UpgradeRequest, peer: Peer, socket: Duplex, sent: Buffer): void {
    const { upgrade, logger } = this.#options;
    socket.on("error", () => undefined);
    upgrade(request, peer, socket, sent).catch((error: unknown) => {
      logger.debug("an upgraded connection failed", { error });
      socket.destroy();
    });
  }
}
