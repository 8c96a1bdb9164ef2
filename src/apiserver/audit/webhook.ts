/**
 * Audit events for a server elsewhere. Either many at a time, and requests never wait for it: what it
 * does not take in time is dropped, and that is logged. Or each as it comes, and requests wait.
 *
 * Limits of the first: `bufferMax` events are kept; one batch is under way at a time.
 */

import type { Logger } from "#lib/logger.ts";
import type { Clock, Timer } from "#lib/time/clock.ts";
import type { AskWebhook } from "../webhook/webhook.ts";

export interface AuditWebhookOptions extends Destination {
  readonly batchMax: number;
  readonly waitMsMax: number;
  readonly bufferMax: number;
  readonly clock: Pick<Clock, "schedule">;
}

interface Destination {
  readonly send: AskWebhook;
  readonly logger: Logger;
}

/** Sends one event; resolves when it has been taken or given up, to whether it was taken. */
export async function sendEvent(event: string, destination: Destination): Promise<boolean> {
  return await sendEvents([event], destination);
}

export class AuditWebhook {
  readonly #options: AuditWebhookOptions;
  #events: string[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  constructor(options: AuditWebhookOptions) {
    this.#options = options;
  }

  /** Takes an event as JSON. */
  write(event: string): void {
    const { bufferMax, batchMax, waitMsMax, clock, logger } = this.#options;
    if (this.#events.length >= bufferMax) {
      logger.error("an audit event was dropped: the webhook does not keep up");
      return;
    }
    this.#events.push(event);
    if (this.#events.length >= batchMax) this.#flush();
    else this.#timer ??= clock.schedule(waitMsMax, () => this.#flush());
  }

  /** Sends what is left; resolves when it has been taken or given up. */
  async close(): Promise<void> {
    while (this.#events.length > 0 || this.#sending !== undefined) {
      this.#flush();
      await this.#sending;
    }
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#sending !== undefined || this.#events.length === 0) return;
    const { batchMax, waitMsMax, clock } = this.#options;
    const batch = this.#events.slice(0, batchMax);
    this.#events = this.#events.slice(batchMax);
    this.#sending = sendEvents(batch, this.#options).then(() => {
      this.#sending = undefined;
      if (this.#events.length >= batchMax) this.#flush();
      else if (this.#events.length > 0) {
        this.#timer ??= clock.schedule(waitMsMax, () => this.#flush());
      }
    });
  }
}

async function sendEvents(batch: readonly string[], { send, logger }: Destination) {
  const head = '{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[';
  try {
    await send(`${head}${batch.join(",")}]}`);
    return true;
  } catch (error) {
    const count = batch.length;
    logger.error("audit events were lost: the webhook did not take them", { count, error });
    return false;
  }
}
