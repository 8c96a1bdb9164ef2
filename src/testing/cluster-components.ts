/** The components of a test cluster: each can be ended and started again while the others run. */
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { runControllers } from "#cmd/controller-manager/run-controllers.ts";
import { type InProcessClients, inProcessClients } from "#cmd/in-process/in-process-clients.ts";
import { runScheduler } from "#cmd/scheduler/run-scheduler.ts";
import { readSimulation } from "#cmd/simulate/simulation-file.ts";
import { type AnyController, builtInControllers } from "#controllers/registry/controllers.ts";
import { signalForMany } from "#lib/async/aborted.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import type { Runtime } from "#runtime/run.ts";
import { runSimulation } from "#sim/run-simulation.ts";
import type { NodeAccess } from "./node-access.ts";

export const COMPONENTS = ["controller-manager", "scheduler", "nodes"] as const;
export type ComponentName = (typeof COMPONENTS)[number];

const ADMIN: User = { name: "system:admin", groups: ["system:masters", "system:authenticated"] };
/** So many heartbeats may be missing until a node counts as lost: upstream's 50 s at 10 s. */
const GRACE_HEARTBEATS = 5;
/** Lost nodes lose their pods at once: tests do not wait for a rate that protects large clusters. */
const EVICTIONS_PER_SECOND = 10;

export interface ComponentParts {
  transportAs(user: User, userAgent: string): Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** Beside the built-in ones. */
  readonly controllers: readonly AnyController[];
  readonly builtIn: boolean;
  readonly nodes: number;
  /** As in a file of `k8ts simulate --config`. */
  readonly simulation: unknown;
  readonly heartbeatMs: number;
  readonly nodeAccess: NodeAccess;
}

export interface RunningPart {
  readonly done: Promise<void>;
  readonly ready: Promise<void>;
  /** Zero when there is nothing to do now. */
  busy(): number;
  readonly runtime?: () => Runtime | undefined;
}

type Start = (parts: ComponentParts, signal: AbortSignal) => RunningPart;

const STARTS: Readonly<Record<ComponentName, Start>> = {
  "controller-manager": startControllers,
  scheduler: startScheduling,
  nodes: startNodes,
};

export class ClusterComponents {
  readonly #parts: ComponentParts;
  readonly #running = new Map<ComponentName, { part: RunningPart; life: AbortController }>();

  constructor(parts: ComponentParts) {
    this.#parts = parts;
  }

  get busy(): number {
    return [...this.#running.values()].reduce((sum, { part }) => sum + part.busy(), 0);
  }

  get runtime(): Runtime | undefined {
    return this.#running.get("controller-manager")?.part.runtime?.();
  }

  start(name: ComponentName): RunningPart {
    const known = this.#running.get(name);
    if (known !== undefined) return known.part;
    const life = new AbortController();
    const part = STARTS[name](this.#parts, signalForMany(life.signal));
    part.done.catch(() => undefined);
    this.#running.set(name, { part, life });
    return part;
  }

  /** Ends it as a crash does: nothing is handed over. */
  async stop(name: ComponentName): Promise<void> {
    const known = this.#running.get(name);
    if (known === undefined) return;
    this.#running.delete(name);
    known.life.abort();
    await known.part.done.catch(() => undefined);
  }

  async stopAll(): Promise<void> {
    await Promise.all(COMPONENTS.map((name) => this.stop(name)));
  }
}

function startControllers(parts: ComponentParts, signal: AbortSignal): RunningPart {
  const { clock, random, heartbeatMs } = parts;
  let runtime: Runtime | undefined;
  const resources = new ResourceSet();
  const graceMs = GRACE_HEARTBEATS * heartbeatMs;
  const builtIn = parts.builtIn
    ? builtInControllers({
        resources,
        rootCa: "",
        nodeHealth: { gracePeriodMs: graceMs, startupGracePeriodMs: graceMs },
        nodeEviction: {
          ...{ rate: EVICTIONS_PER_SECOND, secondaryRate: EVICTIONS_PER_SECOND },
          ...{ largeZoneMin: 50, unhealthyShare: 0.55 },
        },
      })
    : [];
  const done = runControllers(
    {
      controllers: [...builtIn, ...parts.controllers],
      ...{ resources, collectGarbage: parts.builtIn, clock, random },
      ...clientsOf(parts),
      ...{ logger: silentLogger, metrics: new Metrics() },
      onRuntime: (started) => {
        runtime = started;
      },
    },
    signal,
  );
  const busy = (): number => runtime?.busy ?? 1;
  return { ready: Promise.resolve(), done, busy, runtime: () => runtime };
}

/** Built-in controllers have the roles of their accounts; those of a test may do everything. */
function clientsOf(parts: ComponentParts): InProcessClients {
  const { clock, random } = parts;
  const builtIn = inProcessClients(parts);
  const transport = parts.transportAs(ADMIN, "k8ts-test");
  const admin = new Client({ transport, clock, random, fieldManager: "k8ts-test" });
  const own = new Set(parts.controllers.map(({ name }) => name));
  return {
    client: builtIn.client,
    clientFor: (controller) => (own.has(controller) ? admin : builtIn.clientFor(controller)),
  };
}

function startScheduling(parts: ComponentParts, signal: AbortSignal): RunningPart {
  const { clock, random } = parts;
  const user: User = { name: "system:kube-scheduler", groups: ["system:authenticated"] };
  const transport = parts.transportAs(user, "kube-scheduler");
  const client = new Client({ transport, clock, random, fieldManager: "kube-scheduler" });
  const scheduler = runScheduler(
    {
      ...{ client, clock, random, logger: silentLogger },
      ...{ metrics: new Metrics(), hostname: "test" },
    },
    signal,
  );
  return { ...scheduler, busy: () => (scheduler.isBusy() ? 1 : 0) };
}

function startNodes(parts: ComponentParts, signal: AbortSignal): RunningPart {
  const { clock, random, nodes, heartbeatMs } = parts;
  const user: User = { name: "system:simulated-nodes", groups: ["system:masters"] };
  const transport = parts.transportAs(user, "kubelet");
  const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
  const simulation = runSimulation(
    {
      ...{ client, clock, random, logger: silentLogger, nodes, serving: undefined },
      ...{ config: readSimulation(parts.simulation), renewMs: heartbeatMs },
    },
    signal,
  );
  parts.nodeAccess.use(simulation);
  return simulation;
}
