/**
 * Simulated nodes: they register, renew their Leases and run pods without containers, at any number,
 * beside real nodes or alone, against any API server.
 *
 * Promises:
 * 1. One watch of Nodes, one watch of Pods and a few timers serve all nodes.
 * 2. `ready` resolves when all nodes are registered and their kubelet server listens.
 * 3. What runs goes on after a restart: state is read from the API.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { ServerEventRecorder } from "#client/event-recorder.ts";
import { deferred } from "#lib/async/deferred.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { type BehaviourRule, behaviourOf } from "./behaviour.ts";
import { nodeAddress } from "./node-address.ts";
import { DEFAULT_TEMPLATE, type NodeTemplate } from "./node-template.ts";
import {
  type SimulatedServer,
  type SimulatedServing,
  startSimulatedServer,
} from "./simulated-kubelet-server.ts";
import { SimulatedNodes } from "./simulated-nodes.ts";
import { SimulatedPods } from "./simulated-pods.ts";
import type { SummaryPod } from "./simulated-summary.ts";
import { type SimulatedUsage, simulatedUsage } from "./simulated-usage.ts";

export interface SimulationConfig {
  readonly nodes: NodeTemplate;
  /** The first rule that matches a pod counts. */
  readonly pods: readonly BehaviourRule[];
}

export const DEFAULT_SIMULATION: SimulationConfig = { nodes: DEFAULT_TEMPLATE, pods: [] };

export const DEFAULT_RENEW_MS = 10_000;

export interface SimulationOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nodes: number;
  readonly config: SimulationConfig;
  /** How often a Lease is renewed while there are not too many nodes. */
  readonly renewMs: number;
  /** Without one there are no logs, stats and metrics of simulated nodes. */
  readonly serving: SimulatedServing | undefined;
}

export interface RunningSimulation {
  readonly ready: Promise<void>;
  readonly done: Promise<void>;
  /** Work that is to be done now. */
  busy(): number;
  /** Starts the kubelet server of the nodes later, where there was no `serving` at the start. */
  serve(serving: SimulatedServing): Promise<SimulatedServer>;
  /** What the pods of a node use; undefined for nodes that are not simulated here. */
  usageOf(nodeName: string): SimulatedUsage | undefined;
}

export function runSimulation(options: SimulationOptions, signal: AbortSignal): RunningSimulation {
  const { pods: rules } = options.config;
  const described = function* (pods: Iterable<Pod>): Iterable<SummaryPod> {
    for (const pod of pods) yield { pod, behaviour: behaviourOf(pod, rules).behaviour };
  };
  const ready = deferred<void>();
  let parts: { readonly nodes: SimulatedNodes; readonly pods: SimulatedPods } | undefined;
  const serve = (serving: SimulatedServing): Promise<SimulatedServer> => {
    const { client, clock, logger, config } = options;
    const started = (): NonNullable<typeof parts> => parts!;
    return startSimulatedServer(
      {
        ...{ serving, client, clock, logger, rules: config.pods },
        nodes: () => started().nodes,
        pods: () => started().pods,
      },
      signal,
    );
  };
  const run = async (): Promise<void> => {
    const { client, clock, random, logger, config, nodes: count, serving, renewMs } = options;
    const server = serving === undefined ? undefined : await serve(serving);
    const endpoint = {
      port: server?.port ?? 0,
      address: (index: number) => serving?.address ?? nodeAddress(index),
    };
    const shared = { client, clock, random, logger };
    const nodes = new SimulatedNodes({
      ...{ ...shared, count, template: config.nodes, endpoint, renewMs },
    });
    const recorder = new ServerEventRecorder(client, clock, logger, "simulated");
    const pods = new SimulatedPods({ ...shared, recorder, nodes, rules: config.pods });
    parts = { nodes, pods };
    await Promise.all([
      recorder.run(signal),
      nodes.run((name) => pods.wakeNode(name), ready.resolve, signal),
      pods.run(signal),
      server?.closed,
    ]);
  };
  const done = run();
  done.catch(ready.reject);
  return {
    ready: ready.promise,
    done,
    serve,
    usageOf: (name) => {
      if (parts?.nodes.get(name) === undefined) return undefined;
      return simulatedUsage(described(parts.pods.ofNode(name)), options.clock.nowMs());
    },
    busy: () => (parts === undefined ? 1 : parts.nodes.busy + parts.pods.busy),
  };
}
