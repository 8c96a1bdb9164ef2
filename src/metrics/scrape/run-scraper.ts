/**
 * Scrapes every node's kubelet, round after round.
 *
 * Promises:
 * 1. A round begins every resolution, and sooner (not within EARLY_MS of the last one) when a node became
 *    ready or has a single point, so that usage is known soon after a node comes.
 * 2. At most `concurrency` requests run at a time; each has nine tenths of the resolution.
 * 3. A node that fails costs the others nothing; a failure is logged once until the node answers again.
 * 4. Without nodes there are no timers.
 */
import type { Node } from "#api/generated/core.v1.ts";
import type { Informer } from "#client/informer.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import { WakeUp } from "#lib/async/wake-up.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { UsageStorage } from "../resource/usage-storage.ts";
import type { FetchPage } from "./kubelet-fetch.ts";
import { type NodeSample, readNodeSample } from "./node-sample.ts";
import type { ScrapeMetrics } from "./scrape-metrics.ts";

export interface ScraperOptions {
  readonly nodes: Informer<Node>;
  readonly storage: UsageStorage;
  readonly fetch: FetchPage;
  /** Of a node that is simulated in this process, which need not be asked over HTTPS. */
  sampleOf?(nodeName: string): NodeSample | undefined;
  readonly resolutionMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ScrapeMetrics;
  /** Called after each round, with the names of the nodes that answered. */
  onRound?(answered: readonly string[], slice: TimeSlice): Promise<void>;
}

const CONCURRENCY = 64;
const EARLY_MS = 5_000;
const PATH = "/metrics/resource";

/** What a scraper remembers between rounds. */
export interface ScraperState {
  /** Names of nodes whose last scrape failed. */
  readonly failing: Set<string>;
  /** Of the requests that are under way. */
  readonly running: Set<AbortController>;
}

/** Lives until the signal aborts. */
export async function runScraper(options: ScraperOptions, signal: AbortSignal): Promise<void> {
  const { nodes, clock, storage, resolutionMs } = options;
  const wake = new WakeUp();
  onAbort(signal, () => wake.wake());
  nodes.on(({ next, old }) => {
    if (next !== undefined && isReady(next) && !(old !== undefined && isReady(old))) wake.wake();
  }, signal);
  const state: ScraperState = { failing: new Set(), running: new Set() };
  onAbort(signal, () => {
    for (const request of state.running) request.abort(signal.reason);
  });
  await Promise.race([nodes.synced, wake.woken]);
  while (!signal.aborted) {
    const startMs = clock.elapsedMs();
    wake.reset();
    if (signal.aborted) return;
    await scrapeRound(options, state, signal);
    if (nodes.cache.size === 0) {
      await wake.woken;
      continue;
    }
    const left = (limitMs: number): number => Math.max(0, limitMs - (clock.elapsedMs() - startMs));
    await clock.sleep(left(Math.min(EARLY_MS, resolutionMs)), signal).catch(() => undefined);
    if (signal.aborted || storage.hasSinglePoints()) continue;
    const rest = new AbortController();
    const over = clock.sleep(left(resolutionMs), rest.signal).catch(() => undefined);
    await Promise.race([over, wake.woken]);
    rest.abort();
  }
}

/** One round over all nodes. */
export async function scrapeRound(
  options: ScraperOptions,
  state: ScraperState,
  signal: AbortSignal,
): Promise<void> {
  const { nodes, storage, clock, metrics, onRound } = options;
  const todo = [...nodes.cache.list()];
  const startMs = clock.elapsedMs();
  const slice = new TimeSlice(clock);
  const answered: string[] = [];
  storage.beginRound();
  const work = async (): Promise<void> => {
    for (let node = todo.pop(); node !== undefined && !signal.aborted; node = todo.pop()) {
      if (await scrapeNode(options, state, node, slice)) answered.push(node.metadata.name ?? "");
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, todo.length) }, work));
  if (signal.aborted) return;
  storage.endRound();
  for (const name of state.failing) {
    if (nodes.cache.get(undefined, name) === undefined) state.failing.delete(name);
  }
  metrics.round((clock.elapsedMs() - startMs) / 1000, clock.nowMs());
  await onRound?.(answered, slice);
}

/** Answers whether it worked. */
async function scrapeNode(
  { storage, fetch, sampleOf, resolutionMs, clock, logger, metrics }: ScraperOptions,
  { failing, running }: ScraperState,
  node: Node,
  slice: TimeSlice,
): Promise<boolean> {
  const { name = "" } = node.metadata;
  const local = sampleOf?.(name);
  if (local !== undefined) {
    storage.store(name, local);
    await slice.over();
    return true;
  }
  const beginMs = clock.elapsedMs();
  const life = new AbortController();
  running.add(life);
  const limitMs = resolutionMs * 0.9;
  const timeout = new Error(`no answer within ${limitMs} ms`);
  using _limit = clock.schedule(limitMs, () => life.abort(timeout));
  try {
    const text = await fetch(node, PATH, life.signal);
    await slice.over();
    storage.store(name, readNodeSample(text, clock.nowMs()));
    failing.delete(name);
    metrics.requests("success").add(1);
    return true;
  } catch (error) {
    const why = life.signal.reason === timeout ? timeout : error;
    metrics.requests(why === timeout ? "timeout" : "error").add(1);
    const fields = { node: name, error: messageOf(why) };
    if (failing.has(name) || !isReady(node)) logger.debug("Failed to scrape node", fields);
    else logger.warn("Failed to scrape node", fields);
    failing.add(name);
    return false;
  } finally {
    running.delete(life);
    metrics.duration().observe((clock.elapsedMs() - beginMs) / 1000);
  }
}

function isReady({ status }: Node): boolean {
  return status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
}
