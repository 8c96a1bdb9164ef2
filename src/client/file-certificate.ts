/**
 * The client certificate of a kubeconfig, read again periodically and after a 401: the file is rotated
 * before the certificate expires, and long-running processes must pick up the new one.
 */
import type { Clock } from "#lib/time/clock.ts";
import type { Credentials } from "./exec-credentials.ts";

const READ_EVERY_MS = 5 * 60_000;

export interface FileCertificateOptions {
  /** Throws if the file cannot be read. */
  read(): Credentials["certificate"];
  readonly clock: Pick<Clock, "elapsedMs">;
}

export class FileCertificate {
  readonly #options: FileCertificateOptions;
  #known: Credentials["certificate"];
  #readAtMs: number;

  constructor(options: FileCertificateOptions) {
    this.#options = options;
    this.#known = options.read();
    this.#readAtMs = options.clock.elapsedMs();
  }

  async get(): Promise<Credentials> {
    const nowMs = this.#options.clock.elapsedMs();
    if (nowMs - this.#readAtMs >= READ_EVERY_MS) this.#read(nowMs);
    return this.#known === undefined ? {} : { certificate: this.#known };
  }

  /** The server does not take it any more. */
  forget(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  #read(nowMs: number): void {
    this.#readAtMs = nowMs;
    try {
      this.#known = this.#options.read() ?? this.#known;
    } catch {
      // While the file is away or half-written, what is known stays in use.
    }
  }
}
