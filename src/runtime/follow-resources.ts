/**
 * Keeps a ResourceSet as the server's discovery has it. New resources come with definitions and API
 * services, so it looks again shortly after one of those changes; nothing is polled.
 */
import type { KubeObject } from "#api/kind.ts";
import type { Change } from "#client/cache.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { deferred } from "#lib/async/deferred.ts";
import type { Logger } from "#lib/logger.ts";
import type { Counter } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Reader, Resource } from "./controller.ts";
import { discoverResources } from "./discovery.ts";
import type { ResourceSet } from "./resource-set.ts";

/** A new definition is served a moment after it is written. */
const SETTLE_MS = 1_000;
/** After a discovery that was not complete it looks again without being asked. */
const RETRY_MS = 30_000;
const SOURCES: ReadonlySet<string> = new Set(["customresourcedefinitions", "apiservices"]);

export interface FollowOptions {
  readonly reader: Reader;
  readonly resources: ResourceSet;
  /** Calls the listener for every change of a kind, until the signal aborts. */
  onChange(
    kind: Resource,
    listener: (change: Change<KubeObject>) => void,
    signal: AbortSignal,
  ): void;
  /** Counts discoveries that were not complete. */
  readonly incomplete: Counter;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Following {
  /** Resolves after the first discovery. */
  readonly begun: Promise<void>;
  /** Resolves when the signal has aborted. */
  readonly done: Promise<void>;
}

export function followResources(options: FollowOptions, signal: AbortSignal): Following {
  const begun = deferred<void>();
  const done = run(options, begun.resolve, signal);
  return { begun: begun.promise, done };
}

async function run(
  { reader, resources, onChange, incomplete, clock, logger }: FollowOptions,
  begun: () => void,
  signal: AbortSignal,
): Promise<void> {
  let wake = deferred<void>();
  resources.follow((resource, until) => {
    if (SOURCES.has(resource.names.plural)) onChange(resource, () => wake.resolve(), until);
  }, signal);
  onAbort(signal, () => wake.resolve());
  const rest = async (ms: number): Promise<void> => {
    await clock.sleep(ms, signal).catch(() => undefined);
  };
  while (!signal.aborted) {
    wake = deferred<void>();
    const { resources: found, failures, isUnknown } = await discoverResources(reader);
    if (failures.length > 0) {
      incomplete.add(1);
      logger.warn("some groups could not be discovered", { failures });
    }
    // What is only unknown for now is not gone.
    const kept = resources.all().filter(({ group }) => isUnknown(group));
    resources.update([...found, ...kept]);
    begun();
    await Promise.race(failures.length > 0 ? [wake.promise, rest(RETRY_MS)] : [wake.promise]);
    await rest(SETTLE_MS);
  }
}
