/**
 * Runs controllers over a client: the built-in table, and the garbage collector. Both follow the
 * resources that the server has, now or later.
 */
import type { KubeObject } from "#api/kind.ts";
import type { Client } from "#client/client.ts";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { garbageCollector } from "#controllers/garbage-collector.ts";
import type { AnyController } from "#controllers/registry/controllers.ts";
import { queueNameOf } from "#controllers/registry/queue-names.ts";
import type { Logger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { followResources } from "#runtime/follow-resources.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { Runtime } from "#runtime/run.ts";

export interface RunControllersOptions {
  readonly controllers: readonly AnyController[];
  readonly collectGarbage: boolean;
  /** Kept as discovery has it, for controllers that follow it and for the garbage collector. */
  readonly resources?: ResourceSet;
  /** That collect garbage at the same time. */
  readonly garbageWorkers?: number | undefined;
  readonly client: Client;
  /** The client of a controller with an identity of its own. */
  clientFor?(controller: string): Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Reduces the objects of the caches, as `transform` of an informer. */
  readonly transform?: (object: KubeObject) => KubeObject;
  /** Called with the loop of the controllers when it starts. */
  onRuntime?(runtime: Runtime): void;
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
  const { clientFor, transform } = options;
  const runtime = new Runtime({
    client,
    ...(clientFor === undefined ? {} : { clientFor }),
    ...(transform === undefined ? {} : { transform }),
    clock,
    random,
    logger,
    metrics,
    queueName: queueNameOf,
    recorder,
  });
  options.onRuntime?.(runtime);
  const resources = options.resources ?? new ResourceSet();
  const loops = [recorder.run(signal), runtime.run(controllers, signal)];
  const isFollowed = controllers.some(({ discovered }) => discovered !== undefined);
  if (options.collectGarbage || isFollowed) {
    const incomplete = metrics.counter({
      name: "garbagecollector_controller_resources_sync_error_total",
      help: "How often not all resources could be found.",
    })();
    const onChange = runtime.onChange.bind(runtime);
    const following = followResources(
      { reader: client, resources, onChange, incomplete, clock, logger },
      signal,
    );
    loops.push(following.done);
    if (options.collectGarbage) {
      const collector = garbageCollector(resources, options.garbageWorkers);
      // It may only judge what it has seen all dependents of.
      loops.push(following.begun.then(() => runtime.run([collector], signal)));
    }
  }
  await Promise.all(loops);
}
