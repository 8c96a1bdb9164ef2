/** A cluster in a test with the real API server in memory, virtual time, and the scheduler. */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Client } from "#client/client.ts";
import type { Transport } from "#client/transport.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { type Cluster, type ClusterOptions, type Draft, startCluster } from "#testing/cluster.ts";
import { DEFAULT_CONFIG, type SchedulerConfig } from "./config/scheduler-config.ts";
import { type RunningScheduler, startScheduler } from "./create-scheduler.ts";
import type { PluginFactory } from "./plugin.ts";

export interface OtherScheduler extends AsyncDisposable {
  settle(): Promise<void>;
}

const ROUNDS_MAX = 2_000;

export interface SchedulingOptions extends ClusterOptions {
  readonly config?: SchedulerConfig;
  readonly plugins?: readonly PluginFactory[];
  /** Puts something between the scheduler and the API server. */
  wrap?(transport: Transport): Transport;
}

export class SchedulingCluster implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly scheduler: RunningScheduler;
  readonly metrics: Metrics;
  readonly #life: AbortController;

  constructor(
    cluster: Cluster,
    scheduler: RunningScheduler,
    metrics: Metrics,
    life: AbortController,
  ) {
    this.cluster = cluster;
    this.scheduler = scheduler;
    this.metrics = metrics;
    this.#life = life;
  }

  /** Another scheduler on the same cluster. */
  async another(wrap?: SchedulingOptions["wrap"]): Promise<OtherScheduler> {
    const life = new AbortController();
    const options = { seed: 2, ...(wrap === undefined ? {} : { wrap }) };
    const scheduler = startOn(this.cluster, options, new Metrics(), life.signal);
    const settle = async (): Promise<void> => {
      for (let round = 0; round < ROUNDS_MAX && scheduler.isBusy; round++) {
        await this.cluster.clock.advance(0);
      }
    };
    await settle();
    return {
      settle,
      [Symbol.asyncDispose]: async () => {
        life.abort();
        await scheduler.done;
      },
    };
  }

  /** Waits until the scheduler has nothing left to do now. */
  async settle(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      await this.cluster.clock.advance(0);
      if (!this.scheduler.isBusy) {
        await this.cluster.clock.advance(0);
        if (!this.scheduler.isBusy) return;
      }
    }
    throw new Error("the scheduler does not come to rest");
  }

  async advance(durationMs: number): Promise<void> {
    await this.cluster.advance(durationMs);
    await this.settle();
  }

  async node(name: string, draft: Draft<Node> = {}): Promise<void> {
    await this.cluster.seed(nodeKind, nodeDraft(name, draft));
  }

  async pod(name: string, spec: Draft<Pod["spec"]> = {}, draft: Draft<Pod> = {}): Promise<void> {
    await this.cluster.seed(podKind, podDraft(name, spec, draft));
    await this.settle();
  }

  /** Creates a pod without waiting for the scheduler. */
  async submit(name: string, spec: Draft<Pod["spec"]> = {}): Promise<void> {
    await this.cluster.seed(podKind, podDraft(name, spec));
  }

  nodeOf(name: string): string | undefined {
    return this.cluster.get(podKind, name)?.spec.nodeName;
  }

  /** The message of the PodScheduled condition. */
  message(name: string): string | undefined {
    return this.cluster
      .get(podKind, name)
      ?.status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await this.scheduler.done;
    await this.cluster[Symbol.asyncDispose]();
  }
}

export async function startScheduling(options: SchedulingOptions = {}): Promise<SchedulingCluster> {
  const cluster = await startCluster(options);
  const life = new AbortController();
  const metrics = new Metrics();
  const scheduler = startOn(cluster, options, metrics, life.signal);
  const scheduling = new SchedulingCluster(cluster, scheduler, metrics, life);
  await scheduling.settle();
  return scheduling;
}

function startOn(
  { transport, clock }: Cluster,
  options: SchedulingOptions,
  metrics: Metrics,
  signal: AbortSignal,
): RunningScheduler {
  const random = seededRandom(options.seed ?? 1);
  const client = new Client({
    ...{ transport: options.wrap?.(transport) ?? transport, clock, random },
    fieldManager: "kube-scheduler",
  });
  return startScheduler(
    {
      ...{ client, clock, random, metrics, logger: silentLogger, hostname: "test" },
      config: options.config ?? DEFAULT_CONFIG,
      plugins: options.plugins ?? [],
    },
    signal,
  );
}

function nodeDraft(name: string, draft: Draft<Node> = {}): Draft<Node> {
  const capacity = { cpu: "4", memory: "8Gi", pods: "110" };
  return {
    ...draft,
    metadata: {
      name,
      ...draft.metadata,
      labels: { "kubernetes.io/hostname": name, ...draft.metadata?.labels },
    },
    status: { capacity, allocatable: capacity, ...draft.status },
  };
}

function podDraft(name: string, spec: Draft<Pod["spec"]> = {}, draft: Draft<Pod> = {}): Draft<Pod> {
  return {
    ...draft,
    metadata: { name, uid: `uid-${name}`, ...draft.metadata },
    spec: { schedulerName: "default-scheduler", containers: [{ name: "c", image: "x" }], ...spec },
  };
}
