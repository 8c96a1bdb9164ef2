/** Watchers that count the events they get while a few clients write. */
import { openHttp1, openWatch } from "./http1-asker.ts";
import { type Ask, type Measured, measureLoad, type Requester } from "./load.ts";
import type { ServerProcess } from "./server-processes.ts";

const WRITERS = 8;

export interface FanOut extends Disposable {
  /** Until every event that was written has reached every watcher; each ask writes some. */
  measure(
    windowMs: number,
    next: (connection: number) => Ask,
    eventsEach?: number,
  ): Promise<Measured>;
}

export async function openFanOut(
  { port, identity }: Pick<ServerProcess, "port" | "identity">,
  watchers: number,
  pathOf: (writer: Requester) => Promise<string>,
): Promise<FanOut> {
  const writers = await Promise.all(
    Array.from({ length: WRITERS }, () => openHttp1(port, identity)),
  );
  const path = await pathOf(writers[0]!);
  let delivered = 0;
  let wake: () => void = () => undefined;
  const count = (events: number): void => {
    delivered += events;
    wake();
  };
  const watches = await Promise.all(
    Array.from({ length: watchers }, () => openWatch(port, identity, path, count)),
  );
  return {
    measure: async (windowMs, next, eventsEach = 1) => {
      const startMs = performance.now();
      const before = delivered;
      let written = 0;
      await measureLoad(writers, windowMs, (connection) => {
        written += eventsEach;
        return next(connection);
      });
      while (delivered - before < written * watchers) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const events = delivered - before;
      const perSecond = (events * 1000) / (performance.now() - startMs);
      return { count: events, perSecond, p99Ms: Number.NaN };
    },
    [Symbol.dispose]: () => {
      for (const writer of writers) writer[Symbol.dispose]();
      for (const watch of watches) watch.destroy();
    },
  };
}
