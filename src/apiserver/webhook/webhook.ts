/** Servers elsewhere that are asked: the question goes out as JSON, the answer comes back as JSON. */
import { Backoff } from "#lib/async/backoff.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

/** Texts are JSON already. Rejects with WebhookError for whatever is no answer. */
export type AskWebhook = (question: object | string) => Promise<unknown>;

export class WebhookError extends Error {
  override readonly name = "WebhookError";
  /** It may go better next time. */
  readonly transient: boolean;

  constructor(message: string, transient: boolean) {
    super(message);
    this.transient = transient;
  }
}

const TRIES_MAX = 5;

/** Asks again, up to five times, after what may be a passing fault. */
export function withRetries(
  ask: AskWebhook,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  firstMs = 500,
): AskWebhook {
  return async (question) => {
    const backoff = new Backoff({
      baseMs: firstMs,
      capMs: firstMs * 10,
      factor: 1.5,
      jitter: 0.2,
      random,
    });
    for (let tries = 1; ; tries++) {
      try {
        return await ask(question);
      } catch (error) {
        const again = error instanceof WebhookError && error.transient && tries < TRIES_MAX;
        if (!again) throw error;
        await clock.sleep(backoff.nextMs());
      }
    }
  };
}
