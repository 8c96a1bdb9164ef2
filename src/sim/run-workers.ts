/** Workers of one queue: how many keys are worked on at the same time, and what becomes of failures. */
import type { WorkQueue } from "#client/work-queue.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";

/** Lives until the signal aborts. A key whose work fails is queued again after a back-off. */
export async function runWorkers(
  queue: WorkQueue<string>,
  workers: number,
  work: (key: string) => Promise<void>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  onAbort(signal, () => queue.close());
  const worker = async (): Promise<void> => {
    for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
      try {
        await work(key);
        queue.forget(key);
      } catch (error) {
        if (signal.aborted) return;
        const waitMs = queue.retry(key);
        logger.debug("a step of the simulation failed", { key, waitMs, why: messageOf(error) });
      } finally {
        queue.done(key);
      }
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
}
