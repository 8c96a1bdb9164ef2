/** An API server with its embedded store and the scheduler in this process, for measurements. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { User } from "#apiserver/request/request.ts";
import type { Objects } from "#apiserver/storage/objects.ts";
import { Client } from "#client/client.ts";
import { parseFlags } from "#cmd/apiserver/flags/flags.ts";
import { type RunningApiServer, runApiServer } from "#cmd/apiserver/run.ts";
import { runControllers } from "#cmd/controller-manager/run-controllers.ts";
import { inProcessTransport } from "#cmd/in-process/in-process-transport.ts";
import { type RunSchedulerOptions, runScheduler } from "#cmd/scheduler/run-scheduler.ts";
import { resourceClaims } from "#controllers/resource-claim/resource-claim.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { completed, type Draft } from "#testing/build.ts";

const ADMIN: User = { name: "admin", groups: ["system:masters", "system:authenticated"] };
const WRITERS = 64;
const PATIENCE_MS = 300_000;

export class SchedulingBench implements AsyncDisposable {
  readonly client: Client;
  readonly #server: RunningApiServer;
  readonly #folder: string;
  readonly #life: AbortController;
  #bound = new Set<string>();
  readonly #running: Promise<void>[] = [];

  constructor(server: RunningApiServer, folder: string, life: AbortController) {
    this.#server = server;
    this.#folder = folder;
    this.#life = life;
    const transport = inProcessTransport(server.api.handle, ADMIN, "bench");
    this.client = new Client({
      ...{ transport, clock: systemClock, random: systemRandom },
      fieldManager: "bench",
    });
    server.api.objects.onChange(
      podKind,
      (next) => {
        if ((next?.spec.nodeName ?? "") !== "") this.#bound.add(next?.metadata.name ?? "");
      },
      life.signal,
    );
  }

  /** Removed at the end. */
  get folder(): string {
    return this.#folder;
  }

  /** For a scheduler in a process of its own. */
  get kubeconfig(): string {
    return join(this.#folder, "admin.kubeconfig");
  }

  get boundCount(): number {
    return this.#bound.size;
  }

  /** The server's own access to its objects. */
  get objects(): Objects {
    return this.#server.api.objects;
  }

  async startScheduler(
    options: Pick<RunSchedulerOptions, "onDecision" | "config"> = {},
  ): Promise<void> {
    const user: User = { name: "system:kube-scheduler", groups: ["system:authenticated"] };
    const transport = inProcessTransport(this.#server.api.handle, user, "kube-scheduler");
    const surroundings = { clock: systemClock, random: systemRandom };
    const client = new Client({ transport, ...surroundings, fieldManager: "kube-scheduler" });
    const { ready, done } = runScheduler(
      {
        ...{ client, ...surroundings, ...options, logger: silentLogger },
        ...{ metrics: new Metrics(), hostname: "bench" },
      },
      this.#life.signal,
    );
    this.#running.push(done);
    await ready;
  }

  /** Makes ResourceClaims from the templates that pods name. */
  startClaimController(): void {
    const options = {
      ...{ controllers: [resourceClaims], collectGarbage: false, client: this.client },
      ...{ clock: systemClock, random: systemRandom, logger: silentLogger, metrics: new Metrics() },
    };
    this.#running.push(runControllers(options, this.#life.signal));
  }

  /** Writes straight to the store's objects, as if they had been there before. */
  async seed<T extends KubeObject>(kind: KindOf<T>, drafts: readonly Draft<T>[]): Promise<void> {
    await inParallel(drafts, async (draft) => {
      const object = completed(kind, draft);
      kind.defaults?.(object);
      const result = await this.#server.api.objects.create(kind, object as T);
      if (!result.ok) throw new Error(result.status.message);
    });
  }

  /** Removes an object at once, if it is there. */
  async remove<T extends KubeObject>(
    kind: KindOf<T>,
    namespace: string,
    name: string,
  ): Promise<void> {
    await this.objects.delete(kind, namespace, name);
  }

  /** False if the server refuses the pod. */
  async tryCreatePod(draft: Draft<Pod>): Promise<boolean> {
    const result = await this.client.create(podKind, completed(podKind, draft) as Pod);
    return result.ok;
  }

  async createPods(drafts: readonly Draft<Pod>[]): Promise<void> {
    await inParallel(drafts, async (draft) => {
      const result = await this.client.create(podKind, completed(podKind, draft) as Pod);
      if (!result.ok) throw new Error(result.status.message);
    });
  }

  async nodes(drafts: readonly Draft<Node>[]): Promise<void> {
    await this.seed(nodeKind, drafts);
  }

  /** Milliseconds until all the pods have a node. */
  async untilBound(names: readonly string[]): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    for (let next = 0; next < names.length; ) {
      while (next < names.length && this.#bound.has(names[next]!)) next += 1;
      if (next === names.length) return;
      if (performance.now() > endMs) throw new Error(`${names[next]} is not scheduled`);
      await systemClock.sleep(5);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#life.abort();
    await Promise.allSettled(this.#running);
    await this.#server.close(0);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function startSchedulingBench(): Promise<SchedulingBench> {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-bench-"));
  const life = new AbortController();
  const flags = parseFlags([
    ...["--data-dir", folder, "--secure-port", "0", "--bind-address", "127.0.0.1"],
    ...["--disable-admission-plugins", "ServiceAccount,Priority"],
  ]);
  const surroundings = {
    ...{ clock: systemClock, random: systemRandom, logger: silentLogger },
    hostname: "bench",
  };
  const server = await runApiServer(flags, surroundings, life.signal);
  await server.bootstrapped;
  return new SchedulingBench(server, folder, life);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const writer = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}
