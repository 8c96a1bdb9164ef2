/**
 * The state of the cluster as metrics, under the names of kube-state-metrics: the families that the
 * dashboards and alerts of kube-prometheus read.
 *
 * Promises:
 * 1. Nothing is kept between two scrapes: nodes and pods come from the informers' caches, other kinds are
 *    listed in pages on each scrape.
 * 2. Other work of the process goes on meanwhile. Scrapes that overlap share one text.
 * 3. A kind that cannot be listed is left out, and `kube_state_metrics_list_total` counts it.
 */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { daemonSetKind } from "#api/kinds/apps/v1/daemon-set.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { cronJobKind } from "#api/kinds/batch/v1/cron-job.ts";
import { jobKind } from "#api/kinds/batch/v1/job.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import type { ReadCache } from "#client/cache.ts";
import type { Client, Typed } from "#client/client.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import type { Bind, Counter, Metrics } from "#lib/metrics.ts";
import type { Clock } from "#lib/time/clock.ts";
import { familyHead, type StateFamilies, sampleLine } from "./metric-family.ts";
import { nodeFamilies } from "./node-families.ts";
import {
  claimFamilies,
  namespaceFamilies,
  quotaFamilies,
  serviceFamilies,
  volumeFamilies,
} from "./other-families.ts";
import { podFamilies } from "./pod-families.ts";
import {
  autoscalerFamilies,
  cronJobFamilies,
  daemonSetFamilies,
  deploymentFamilies,
  disruptionBudgetFamilies,
  jobFamilies,
  replicaSetFamilies,
  statefulSetFamilies,
} from "./workload-families.ts";

export interface ClusterStateOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly nodes: ReadCache<Node>;
  readonly pods: ReadCache<Pod>;
}

const PAGE_SIZE = 500;

/** A kind with its families, bound together so that the types of both agree. */
interface ListedKind {
  readonly plural: string;
  texts(client: Client, slice: TimeSlice): Promise<string>;
}

const LISTED: readonly ListedKind[] = [
  listed(namespaceKind, namespaceFamilies),
  listed(deploymentKind, deploymentFamilies),
  listed(replicaSetKind, replicaSetFamilies),
  listed(statefulSetKind, statefulSetFamilies),
  listed(daemonSetKind, daemonSetFamilies),
  listed(jobKind, jobFamilies),
  listed(cronJobKind, cronJobFamilies),
  listed(horizontalPodAutoscalerKind, autoscalerFamilies),
  listed(podDisruptionBudgetKind, disruptionBudgetFamilies),
  listed(serviceKind, serviceFamilies),
  listed(persistentVolumeKind, volumeFamilies),
  listed(persistentVolumeClaimKind, claimFamilies),
  listed(resourceQuotaKind, quotaFamilies),
];

export class ClusterState {
  readonly #options: ClusterStateOptions;
  readonly #lists: Bind<Counter>;
  #writing: Promise<string> | undefined;

  constructor(options: ClusterStateOptions) {
    this.#options = options;
    this.#lists = options.metrics.counter({
      name: "kube_state_metrics_list_total",
      help: "Number of total resource list calls in kube-state-metrics",
      labels: ["resource", "result"],
    });
  }

  text(): Promise<string> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #write(): Promise<string> {
    const { client, clock, nodes, pods } = this.#options;
    const slice = new TimeSlice(clock);
    const parts = [
      await familiesText(nodeFamilies, nodes.list(), slice),
      await familiesText(podFamilies, pods.list(), slice),
    ];
    for (const { plural, texts } of LISTED) {
      try {
        parts.push(await texts(client, slice));
        this.#lists(plural, "success").add(1);
      } catch {
        this.#lists(plural, "error").add(1);
      }
    }
    return parts.join("");
  }
}

function listed<T extends KubeObject>(kind: Typed<T>, families: StateFamilies<T>): ListedKind {
  return {
    plural: kind.names.plural,
    texts: async (client, slice) => {
      const objects: T[] = [];
      let next: string | undefined;
      do {
        const page =
          next === undefined ? { limit: PAGE_SIZE } : { limit: PAGE_SIZE, continue: next };
        const answer = await client.list(kind, page);
        if (!answer.ok) throw new Error(answer.status.message);
        objects.push(...(answer.value.items ?? []));
        next = answer.value.metadata?.continue;
      } while (next !== undefined && next !== "");
      return await familiesText(families, objects, slice);
    },
  };
}

/** Lines of a family must stand together: one buffer for each. */
async function familiesText<T>(
  families: StateFamilies<T>,
  objects: Iterable<T>,
  slice: TimeSlice,
): Promise<string> {
  const writers = Object.entries(families).map(([name, read]) => ({ name, read, lines: "" }));
  for (const object of objects) {
    for (const writer of writers) {
      for (const one of writer.read(object)) writer.lines += sampleLine(writer.name, one);
    }
    await slice.over();
  }
  return writers.map(({ name, lines }) => `${familyHead(name)}${lines}`).join("");
}
