/**
 * Runs controllers over a client: the built-in table, and the garbage collector over every resource
 * that discovery tells of, now or later.
 */
import type { Client } from "#client/client.ts";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { garbageCollector } from "#controllers/garbage-collector.ts";
import type { AnyController } from "#controllers/registry/controllers.ts";
import { queueNameOf } from "#controllers/registry/queue-names.ts";
import { untilAborted } from "#lib/aborted.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Resource } from "#runtime/controller.ts";
import { discoverResources } from "#runtime/discovery.ts";
import { Runtime } from "#runtime/run.ts";

/** A new definition is served a moment after it is written. */
const SETTLE_MS = 1_000;
const SOURCES: ReadonlySet<string> = new Set(["customresourcedefinitions", "apiservices"]);

export interface RunControllersOptions {
  readonly controllers: readonly AnyController[];
  readonly collectGarbage: boolean;
  /** That collect garbage at the same time. */
  readonly garbageWorkers?: number | undefined;
  readonly client: Client;
  /** The client of a controller with an identity of its own. */
  clientFor?(controller: string): Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Lives until the signal aborts. */
export async function runControllers(
  options: RunControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random, logger, controllers } = options;
  // Those that run again, in another term as the leader, begin to count again.
  const metrics = new Metrics();
  using _shown = options.metrics.include(metrics);
  const recorder = new ServerEventRecorder(client, clock, logger);
  const { clientFor } = options;
  const runtime = new Runtime({
    client,
    ...(clientFor === undefined ? {} : { clientFor }),
    clock,
    random,
    logger,
    metrics,
    queueName: queueNameOf,
    recorder,
  });
  const loops = [recorder.run(signal), runtime.run(controllers, signal)];
  if (options.collectGarbage) loops.push(collectGarbage(runtime, { ...options, metrics }, signal));
  await Promise.all(loops);
}

async function collectGarbage(
  runtime: Runtime,
  { client, clock, logger, metrics, garbageWorkers }: RunControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  const errors = metrics.counter({
    name: "garbagecollector_controller_resources_sync_error_total",
    help: "How often not all resources could be found.",
  })();
  const known = new Map<string, Resource>();
  const running: Promise<void>[] = [];
  const discover = async (): Promise<void> => {
    const { resources, failures } = await discoverResources(client);
    if (failures.length > 0) {
      errors.add(1);
      logger.warn("some groups could not be discovered", { failures });
    }
    const fresh = resources.filter((r) => isCollectable(r) && !known.has(idOf(r)));
    if (fresh.length === 0) return;
    for (const resource of fresh) known.set(idOf(resource), resource);
    const collector = garbageCollector(fresh, () => [...known.values()], garbageWorkers);
    running.push(runtime.run([collector], signal));
  };
  await discover();
  await discoverOnChange(runtime, [...known.values()], clock, discover, signal);
  await Promise.all(running);
}

/** New resources come with definitions and API services: look again shortly after one changes. */
async function discoverOnChange(
  runtime: Runtime,
  known: readonly Resource[],
  clock: Clock,
  discover: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const sources = known.filter(({ names }) => SOURCES.has(names.plural));
  while (!signal.aborted) {
    const change = new AbortController();
    for (const source of sources) runtime.cache(source).on(() => change.abort(), change.signal);
    await untilAborted(AbortSignal.any([change.signal, signal]));
    if (signal.aborted) return;
    await clock.sleep(SETTLE_MS, signal).catch(() => undefined);
    await discover();
  }
}

/** Events are many, own nothing and expire by themselves. */
function isCollectable({ group, names, verbs }: Resource): boolean {
  if (names.plural === "events" && (group === "" || group === "events.k8s.io")) return false;
  return ["delete", "list", "watch"].every((verb) => verbs.includes(verb));
}

function idOf({ group, names }: Resource): string {
  return `${group}/${names.plural}`;
}
