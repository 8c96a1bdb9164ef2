/**
 * Values of a metric in pages of Prometheus text. `NAME` is the sum of the series of that name whose labels
 * match; `NAME_per_second` is the rate of the counter `NAME_total` (or `NAME`) between two readings.
 *
 * Promises: readings for rates are kept for 5 minutes, at most READINGS_MAX of them. A counter that went back
 * was reset and counts from zero. The first reading of a counter gives no rate.
 */
import { matchesLabels, type Selector } from "#api/meta/label-selector.ts";
import type { Clock } from "#lib/time/clock.ts";
import { labelsOf, metricLines } from "../scrape/metric-lines.ts";

export interface SeriesValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Of a rate. */
  readonly windowSeconds?: number;
}

interface Reading {
  readonly timeMs: number;
  readonly value: number;
}

const READINGS_MAX = 20_000;
const KEEP_MS = 300_000;
/** Two readings closer than this give the rate that was known before. */
const WINDOW_MIN_MS = 1_000;
const RATE = "_per_second";

export class SeriesValues {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #readings = new Map<string, Reading & { readonly rate: SeriesValue | undefined }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `source` names where the page comes from, such as the uid of a pod. */
  read(source: string, text: string, metric: string, selector: Selector): readonly SeriesValue[] {
    const isRate = metric.endsWith(RATE);
    const base = isRate ? metric.slice(0, -RATE.length) : metric;
    const names = isRate ? [`${base}_total`, base] : [metric];
    const found: SeriesValue[] = [];
    for (const { name, labelText, value } of metricLines(text)) {
      if (!names.includes(name) || !Number.isFinite(value)) continue;
      const labels = labelsOf(labelText);
      if (!matchesLabels(selector, labels)) continue;
      if (!isRate) found.push({ labels, value });
      else {
        const rate = this.#rate(`${source}\n${name}\n${labelText}`, value, labels);
        if (rate !== undefined) found.push(rate);
      }
    }
    return found;
  }

  #rate(
    key: string,
    value: number,
    labels: Readonly<Record<string, string>>,
  ): SeriesValue | undefined {
    const timeMs = this.#clock.elapsedMs();
    const before = this.#readings.get(key);
    if (before !== undefined && timeMs - before.timeMs < WINDOW_MIN_MS) return before.rate;
    const isKnown = before !== undefined && timeMs - before.timeMs <= KEEP_MS;
    const rate = isKnown ? rateOf(before, { timeMs, value }, labels) : undefined;
    this.#readings.delete(key);
    this.#readings.set(key, { timeMs, value, rate });
    for (const [oldest, reading] of this.#readings) {
      if (this.#readings.size <= READINGS_MAX && timeMs - reading.timeMs <= KEEP_MS) break;
      this.#readings.delete(oldest);
    }
    return rate;
  }
}

function rateOf(before: Reading, now: Reading, labels: SeriesValue["labels"]): SeriesValue {
  const windowSeconds = (now.timeMs - before.timeMs) / 1000;
  const grown = now.value >= before.value ? now.value - before.value : now.value;
  return { labels, value: grown / windowSeconds, windowSeconds: Math.round(windowSeconds) };
}
