/**
 * Hands committed changes to the watches of a local store.
 *
 * Watches under the same prefix share one array of events. A key finds the prefixes it is under by
 * their lengths, so the cost of a change does not grow with the number of prefixes watched.
 */
import type { WatchBatch, WatchEvent, WatchOptions } from "#store/contract.ts";
import type { Engine, Step } from "./engine.ts";
import { LocalWatch } from "./local-watch.ts";
import { prevValueOf, toWatchEvent } from "./watch-event.ts";

export class WatchHub {
  readonly #engine: Engine;
  readonly #watches = new Set<LocalWatch>();
  readonly #byLength = new Map<number, Map<string, PrefixGroup>>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  watch(prefix: string, options: WatchOptions): LocalWatch {
    const host = {
      view: () => this.#engine.view,
      goLive: (live: LocalWatch) => this.#join(prefix, live),
      ended: (over: LocalWatch) => {
        this.#watches.delete(over);
        this.#leave(prefix, over);
      },
    };
    const watch = new LocalWatch(host, prefix, options);
    this.#watches.add(watch);
    watch.start();
    return watch;
  }

  publish(steps: readonly Step[], revision: number): void {
    if (this.#byLength.size === 0) return;
    const eventsOf = new Map<PrefixGroup, WatchEvent[]>();
    for (const { change } of steps) {
      const groups = this.#groupsOf(change.key);
      if (groups.length === 0) continue;
      const wanted = groups.some(({ wantPrevValue }) => wantPrevValue > 0);
      const event = toWatchEvent(
        change,
        wanted ? prevValueOf(change, this.#engine.view) : undefined,
      );
      for (const group of groups) {
        const events = eventsOf.get(group);
        if (events === undefined) eventsOf.set(group, [event]);
        else events.push(event);
      }
    }
    for (const [{ watches }, events] of eventsOf) {
      const batch: WatchBatch = { revision, events };
      for (const watch of [...watches]) watch.deliver(batch);
    }
  }

  close(error: Error): void {
    for (const watch of [...this.#watches]) watch.fail(error);
  }

  #groupsOf(key: string): PrefixGroup[] {
    const groups: PrefixGroup[] = [];
    for (const [length, byPrefix] of this.#byLength) {
      const group = byPrefix.get(key.slice(0, length));
      if (group !== undefined) groups.push(group);
    }
    return groups;
  }

  #join(prefix: string, watch: LocalWatch): void {
    const byPrefix = this.#byLength.get(prefix.length) ?? new Map<string, PrefixGroup>();
    const group = byPrefix.get(prefix) ?? { watches: new Set(), wantPrevValue: 0 };
    this.#byLength.set(prefix.length, byPrefix.set(prefix, group));
    group.watches.add(watch);
    if (watch.withPrevValue) group.wantPrevValue += 1;
  }

  #leave(prefix: string, watch: LocalWatch): void {
    const byPrefix = this.#byLength.get(prefix.length);
    const group = byPrefix?.get(prefix);
    if (byPrefix === undefined || group?.watches.delete(watch) !== true) return;
    if (watch.withPrevValue) group.wantPrevValue -= 1;
    if (group.watches.size === 0) byPrefix.delete(prefix);
    if (byPrefix.size === 0) this.#byLength.delete(prefix.length);
  }
}

interface PrefixGroup {
  readonly watches: Set<LocalWatch>;
  /** How many of them want the previous value. */
  wantPrevValue: number;
}
