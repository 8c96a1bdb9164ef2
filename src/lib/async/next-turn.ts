/** Lets everything that is ready run: resolves in a later turn of the event loop. */
import { setImmediate as turn } from "node:timers/promises";

export function nextTurn(): Promise<void> {
  return turn();
}
