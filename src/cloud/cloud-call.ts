/** The outcome of a call to the cloud as a value, so that decisions about it stay pure. */
import { messageOf } from "#lib/caught.ts";
import { isImplementedElsewhere, retryAfterMsOf } from "./provider.ts";

export type CloudResult<T> =
  | { readonly ok: true; readonly value: T }
  /** Another program looks after it. */
  | { readonly ok: false; readonly elsewhere: true }
  | {
      readonly ok: false;
      readonly elsewhere: false;
      readonly message: string;
      readonly retryAfterMs: number | undefined;
    };

export async function cloudCall<T>(
  call: () => Promise<T>,
  signal: AbortSignal,
): Promise<CloudResult<T>> {
  try {
    return { ok: true, value: await call() };
  } catch (error) {
    if (signal.aborted) throw error;
    if (isImplementedElsewhere(error)) return { ok: false, elsewhere: true };
    const [message, retryAfterMs] = [messageOf(error), retryAfterMsOf(error)];
    return { ok: false, elsewhere: false, message, retryAfterMs };
  }
}
