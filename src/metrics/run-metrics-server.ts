/**
 * The metrics server without its HTTP server: follows nodes and pods, scrapes kubelets, and offers the
 * groups that are served from what it knows.
 */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { fetchMetricText } from "./adapter/fetch-metric-text.ts";
import { adapterGroups } from "./adapter/metrics-adapter.ts";
import type { ScrapeTarget } from "./adapter/scrape-target.ts";
import { recordNode } from "./history/history-api.ts";
import { UsageHistory } from "./history/usage-history.ts";
import { UsageStorage } from "./resource/usage-storage.ts";
import type { FetchPage } from "./scrape/kubelet-fetch.ts";
import { runScraper, type ScraperOptions } from "./scrape/run-scraper.ts";
import { ScrapeMetrics } from "./scrape/scrape-metrics.ts";
import { resourceMetricsGroup, type ServedGroup } from "./serve-metrics.ts";
import { ClusterState } from "./state/cluster-state.ts";

export interface MetricsServerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly fetch: FetchPage;
  readonly sampleOf?: ScraperOptions["sampleOf"];
  readonly resolutionMs: number;
  /** Scrape only nodes with these labels; "" for all. */
  readonly nodeSelector: string;
}

export interface RunningMetricsServer {
  readonly groups: readonly ServedGroup[];
  /** What `/metrics` says of the cluster. */
  readonly state: ClusterState;
  isReady(): boolean;
  readonly done: Promise<void>;
}

/** Upstream's default of `--metric-resolution` in its manifests. */
export const DEFAULT_RESOLUTION_MS = 15_000;

export function runMetricsServer(
  options: MetricsServerOptions,
  signal: AbortSignal,
): RunningMetricsServer {
  const { client, clock, random, logger, metrics, fetch, resolutionMs, nodeSelector } = options;
  const shared = { client, clock, random, logger };
  const selector = nodeSelector === "" ? {} : { labelSelector: nodeSelector };
  const nodes = new Informer<Node>({ ...shared, kind: nodeKind, ...selector });
  const pods = new Informer<Pod>({ ...shared, kind: podKind });
  const storage = new UsageStorage(resolutionMs);
  const isReady = (): boolean => nodes.isSynced && pods.isSynced;
  const history = new UsageHistory();
  const onRound: ScraperOptions["onRound"] = async (answered, slice) => {
    history.beginRound(clock.nowMs());
    for (const name of answered) {
      recordNode(history, storage, name);
      await slice.over();
    }
  };
  const { sampleOf } = options;
  const scrape = {
    ...{ nodes, storage, fetch, resolutionMs, clock, logger, onRound },
    ...(sampleOf === undefined ? {} : { sampleOf }),
  };
  const running = [
    nodes.run(signal),
    pods.run(signal),
    runScraper({ ...scrape, metrics: new ScrapeMetrics(metrics) }, signal),
  ];
  const source = {
    ...{ storage, nodes: nodes.cache, pods: pods.cache },
    nowMs: () => clock.nowMs(),
  };
  const adapter = {
    ...{ client, clock, nodes: nodes.cache, pods: pods.cache },
    fetch: (target: ScrapeTarget) => fetchMetricText(target, clock),
  };
  return {
    groups: [resourceMetricsGroup(source, history, isReady), ...adapterGroups(adapter)],
    state: new ClusterState({ client, clock, metrics, nodes: nodes.cache, pods: pods.cache }),
    isReady,
    done: Promise.all(running).then(() => undefined),
  };
}
