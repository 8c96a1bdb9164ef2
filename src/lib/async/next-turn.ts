/** Lets everything that is ready run: resolves in a later turn of the event loop. */
import { setImmediate as turn } from "node:timers";

export function nextTurn(): Promise<void> {
  // That of node:timers/promises takes options, and several times as long to look at them.
  return new Promise((resolve) => turn(resolve));
}
