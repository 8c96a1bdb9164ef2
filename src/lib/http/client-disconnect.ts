/** The client's disconnect, as an AbortSignal that is created on first use, and as one listener. */
export class ClientDisconnect {
  #controller: AbortController | undefined;
  #listener: (() => void) | undefined;
  gone = false;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.gone) this.#controller.abort(CLIENT_GONE);
    }
    return this.#controller.signal;
  }

  /** Cheaper than the signal. There is one listener. */
  onLeave(listener: () => void): void {
    this.#listener = listener;
  }

  leave(): void {
    this.gone = true;
    this.#listener?.();
    this.#controller?.abort(CLIENT_GONE);
  }
}

export const CLIENT_GONE = new Error("the client is gone");
