/**
 * The metrics server: one scrape round over many kubelets (pages of 30 pods each, TLS, served by another
 * process), what a sample in the history takes, and the list of a namespace of 1,000 pods.
 */
import { fork } from "node:child_process";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { Cache } from "#client/cache.ts";
import { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import type { Transport } from "#client/transport.ts";
import { servingCertificate } from "#cmd/component/serving-certificate.ts";
import { resourceMetrics } from "#kubelet/stats/resource-metrics.ts";
import { silentLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { seededRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { recordNode } from "#metrics/history/history-api.ts";
import { UsageHistory } from "#metrics/history/usage-history.ts";
import { listPodMetrics } from "#metrics/resource/resource-metrics-api.ts";
import { UsageStorage } from "#metrics/resource/usage-storage.ts";
import { KubeletFetch } from "#metrics/scrape/kubelet-fetch.ts";
import { scrapeRound } from "#metrics/scrape/run-scraper.ts";
import { ScrapeMetrics } from "#metrics/scrape/scrape-metrics.ts";
import { build } from "#testing/build.ts";
import type { BenchOptions, Row } from "./row.ts";

export const name = "metrics";

const PODS_PER_NODE = 30;
const RESOLUTION_MS = 15_000;
/** The aims for a cluster of 5,000 nodes, for as many nodes as a run has. */
const ROUND_MS_PER_NODE = 15_000 / 5_000;
const CPU_MS_PER_NODE = (0.3 * 15_000) / 5_000;
const CHILD = "kubelets";

export async function* run({ quick, signal, progress }: BenchOptions): AsyncIterable<Row> {
  const count = quick ? 300 : 5_000;
  const child = fork(fileURLToPath(import.meta.url), [CHILD], { signal });
  child.on("error", () => undefined); // aborted
  try {
    const port = await new Promise<number>((resolve) => child.once("message", resolve));
    const nodes = nodesOf(count, port);
    const storage = new UsageStorage(RESOLUTION_MS);
    const history = new UsageHistory();
    using kubelets = new KubeletFetch({
      ...{ addressTypes: ["InternalIP"], useReportedPort: true },
      tls: { verify: "nothing" },
    });
    const options = {
      ...{ nodes, storage, resolutionMs: RESOLUTION_MS, clock: systemClock, logger: silentLogger },
      fetch: kubelets.get.bind(kubelets),
      metrics: new ScrapeMetrics(new Metrics()),
      onRound: async (answered: readonly string[]) => {
        history.beginRound(systemClock.nowMs());
        for (const one of answered) recordNode(history, storage, one);
      },
    };
    const state = { failing: new Set<string>(), running: new Set<AbortController>() };
    const rounds: { readonly ms: number; readonly cpuMs: number }[] = [];
    for (let round = 0; round < 4; round++) {
      progress(`round ${round + 1} over ${count} nodes`);
      const startMs = systemClock.elapsedMs();
      const before = process.cpuUsage();
      await scrapeRound(options, state, signal);
      const { user, system } = process.cpuUsage(before);
      rounds.push({ ms: systemClock.elapsedMs() - startMs, cpuMs: (user + system) / 1000 });
      await systemClock.sleep(Math.max(0, 1_100 - rounds.at(-1)!.ms)); // pages change every second
    }
    if (storage.size !== count) throw new Error(`${count - storage.size} nodes were not scraped`);
    const best = rounds.slice(1).sort((a, b) => a.ms - b.ms)[0]!;
    yield {
      ...{ name: `one scrape round, ${count} nodes × ${PODS_PER_NODE} pods`, unit: "ms" },
      ...{ value: best.ms, limit: count * ROUND_MS_PER_NODE, limitName: "ms" },
    };
    yield {
      ...{ name: "processor time of the round", unit: "ms", value: best.cpuMs },
      ...{ limit: count * CPU_MS_PER_NODE, limitName: "ms (0.3 core)" },
    };
    const samples = (history.seriesCount || 1) * (rounds.length - 1);
    yield {
      ...{ name: "history, bytes for a pod and sample", unit: "bytes" },
      ...{ value: history.sampleBytes / samples, limit: 100, limitName: "bytes", target: 1 },
    };
    yield listRow();
  } finally {
    child.kill();
  }
}

/** An informer whose cache is filled by hand; it never runs. */
function nodesOf(count: number, port: number): Informer<Node> {
  const shared = { clock: systemClock, random: seededRandom(1), logger: silentLogger };
  const transport: Transport = {
    send: () => Promise.reject(new Error("no server")),
    raw: () => Promise.reject(new Error("no server")),
    watch: () => {
      throw new Error("no server");
    },
  };
  const client = new Client({ ...shared, transport, fieldManager: "bench" });
  const nodes = new Informer<Node>({ ...shared, client, kind: nodeKind });
  for (let i = 0; i < count; i++) {
    const node = build(nodeKind, {
      metadata: { name: `node-${i}` },
      status: {
        addresses: [{ type: "InternalIP", address: `127.1.${i >> 8}.${i & 255 || 1}` }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
        conditions: [{ type: "Ready", status: "True" }],
      },
    });
    nodes.cache.put(node);
  }
  return nodes;
}

/** What `kubectl top pods` asks the server for; without kubectl and the network. */
function listRow(): Row {
  const storage = new UsageStorage(RESOLUTION_MS);
  const pods = new Cache<Pod>();
  const points = (at: number, cpuSeconds: number) => ({
    timeMs: at,
    cpuSeconds,
    memoryBytes: 1e8,
    startMs: 1,
  });
  for (const round of [1, 2]) {
    storage.beginRound();
    const sampled = Array.from({ length: 1_000 }, (_, i) => {
      const containers = new Map([["app", points(round * 15_000, round * 2)]]);
      return [`default/pod-${i}`, containers] as const;
    });
    storage.store("n", { node: undefined, pods: new Map(sampled) });
    storage.endRound();
  }
  for (let i = 0; i < 1_000; i++) {
    pods.put(build(podKind, { metadata: { name: `pod-${i}` }, spec: { nodeName: "n" } }));
  }
  const source = { storage, pods, nodes: new Cache<Node>(), nowMs: () => 30_000 };
  const times = Array.from({ length: 20 }, () => {
    const startMs = systemClock.elapsedMs();
    const answer = listPodMetrics(source, "default", { labelSelector: "", fieldSelector: "" });
    if (!answer.ok || answer.value.items.length !== 1_000) throw new Error("pods are missing");
    JSON.stringify(answer.value);
    return systemClock.elapsedMs() - startMs;
  });
  const median = times.sort((a, b) => a - b)[10]!;
  return {
    ...{ name: "PodMetrics of a namespace of 1,000 pods, made and serialized", unit: "ms" },
    ...{ value: median, limit: 100, limitName: "ms", target: 1 },
  };
}

/** The kubelets of all nodes: one page, new every second. */
function serveKubelets(): void {
  const page = (): string => {
    const nowMs = systemClock.nowMs();
    const time = new Date(nowMs).toISOString();
    const cpu = { time, usageNanoCores: 1e7, usageCoreNanoSeconds: nowMs * 1e4 };
    const memory = { time, usageBytes: 3e7, workingSetBytes: 3e7, rssBytes: 3e7 };
    const startTime = "2026-01-01T00:00:00Z";
    const pods = Array.from({ length: PODS_PER_NODE }, (_, i) => ({
      podRef: { name: `web-${i}`, namespace: "default", uid: `${i}` },
      ...{ startTime, cpu, memory, containers: [{ name: "web", startTime, cpu, memory }] },
    }));
    return resourceMetrics({ node: { nodeName: "n", startTime, cpu, memory }, pods });
  };
  let known = { text: page(), atMs: systemClock.elapsedMs() };
  const tls = servingCertificate({ certFile: "", keyFile: "" }, "localhost", systemClock);
  const server = createServer(tls, (_message, reply) => {
    const atMs = systemClock.elapsedMs();
    if (atMs - known.atMs > 1_000) known = { text: page(), atMs };
    reply.end(known.text);
  });
  server.keepAliveTimeout = 90_000; // that of kubelets
  server.listen(0, "0.0.0.0", () => process.send?.((server.address() as AddressInfo).port));
}

if (process.argv[2] === CHILD && process.send !== undefined) serveKubelets();
