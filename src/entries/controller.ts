/**
 * `k8ts/controller`: what a controller of your own needs. A controller is a record of feeds, observe
 * and decide; `runController` gives it informers, a queue, an executor and, if wanted, a lease.
 */
import type { KubeObject } from "#api/kind.ts";
import { Client } from "#client/client.ts";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { type Connection, connectionFromFile, connectionInCluster } from "#client/kubeconfig.ts";
import { runLeaderElection } from "#client/leader-election.ts";
import { HeldLease, LeaderTransport } from "#client/leader-transport.ts";
import { createLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import type { Controller } from "#runtime/controller.ts";
import { Runtime } from "#runtime/run.ts";

export type { KubeObject } from "#api/kind.ts";
export type { Typed } from "#client/client.ts";
export type { Clock } from "#lib/time/clock.ts";
export {
  type Caches,
  type Controller,
  controllerKey,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
  readOnly,
  recheckIn,
} from "#runtime/controller.ts";
export {
  applyFields,
  create,
  deleteUnchanged,
  noted,
  patch,
  remove,
  update,
  updateStatus,
} from "#runtime/writes.ts";

/** A kind by its names, for kinds that k8ts does not know: `resource<Widget>("example.com/v1", "Widget", "widgets")`. */
export function resource<T extends KubeObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  scope: "Namespaced" | "Cluster" = "Namespaced",
): import("#client/client.ts").Typed<T> {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  return {
    group,
    version: apiVersion.slice(slash + 1),
    apiVersion,
    scope,
    names: { kind, plural },
  };
}

export interface RunOptions {
  /** A kubeconfig; inside a pod its service account is used without one. */
  readonly kubeconfig?: string;
  /** Work only while holding this lease. */
  readonly lease?: { readonly namespace: string; readonly name: string; readonly identity: string };
  /** What the time is and when waits are over: the machine's clock unless given. Tests give their cluster's. */
  readonly clock?: Clock;
  readonly signal: AbortSignal;
}

/** Runs controllers against a cluster until the signal aborts. */
export async function runController(
  // biome-ignore lint/suspicious/noExplicitAny: controllers of different states may run together
  controllers: readonly Controller<any, any>[],
  options: RunOptions,
): Promise<void> {
  const { clock = systemClock } = options;
  const random = systemRandom;
  const logger = createLogger({
    level: "info",
    clock,
    format: process.stderr.isTTY ? "pretty" : "json",
    write: (line) => process.stderr.write(line),
  });
  const name = controllers[0]?.name ?? "controller";
  using transport = new HttpsTransport(connectionOf(options.kubeconfig), name, undefined, {
    http2: { clock },
  });
  const held = new HeldLease(clock);
  const leading = new LeaderTransport(transport, held);
  const client = new Client({ transport: leading, clock, random, fieldManager: name });
  const work = async (signal: AbortSignal): Promise<void> => {
    const recorder = new ServerEventRecorder(client, clock, logger);
    const runtime = new Runtime({
      client,
      clock,
      random,
      logger,
      metrics: new Metrics(),
      recorder,
    });
    await Promise.all([recorder.run(signal), runtime.run(controllers, signal)]);
  };
  if (options.lease === undefined) return await work(options.signal);
  await runLeaderElection(
    { client, clock, random, logger, held, ...options.lease },
    work,
    options.signal,
  );
}

function connectionOf(kubeconfig: string | undefined): Connection {
  return kubeconfig === undefined
    ? connectionInCluster(process.env)
    : connectionFromFile(kubeconfig);
}
