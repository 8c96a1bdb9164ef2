/**
 * A metrics registry in Prometheus' text format.
 *
 * Promises:
 * 1. A name is registered once; registering it again throws.
 * 2. Label values are bounded: past `seriesMax` new label sets are counted in one series whose
 *    labels are all "overflow", so that no client can fill the memory.
 * 3. What comes and goes has a registry of its own, which another includes for as long.
 * 4. `bind` looks a series up once, for hot paths: after it, counting is an addition.
 */
export interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  readonly seriesMax?: number;
}

export interface Counter {
  add(amount: number): void;
}
export interface Gauge extends Counter {
  set(value: number): void;
}
export interface Histogram {
  observe(value: number): void;
}
/** Values of the labels, in the order in which they were declared. */
export type Bind<Series> = (...labelValues: readonly string[]) => Series;

const SERIES_MAX = 2_000;

type LabelledOptions = MetricOptions & { readonly labels: readonly string[] };
type ReadSeries = () => readonly { readonly labels: readonly string[]; readonly value: number }[];

export class Metrics {
  readonly #families = new Map<string, Family>();
  readonly #parts = new Set<Metrics>();

  /** Shows another registry with this one for as long as the answer is not disposed of. */
  include(part: Metrics): Disposable {
    this.#parts.add(part);
    return { [Symbol.dispose]: () => void this.#parts.delete(part) };
  }

  counter(options: MetricOptions): Bind<Counter> {
    const family = this.#register("counter", options, () => new NumberSeries());
    return (...values) => family.series(values);
  }

  gauge(options: MetricOptions): Bind<Gauge> {
    const family = this.#register("gauge", options, () => new NumberSeries());
    return (...values) => family.series(values);
  }

  /** A gauge whose value is read on scrape. */
  gaugeOf(options: Omit<MetricOptions, "labels">, read: () => number): void {
    this.#register("gauge", options, () => ({
      lines: (name) => [`${name} ${show(read())}`],
    })).series([]);
  }

  /** The same for a family of them: which there are is asked, too. */
  gaugesOf(options: LabelledOptions, read: ReadSeries): void {
    this.#registerRead("gauge", options, read);
  }

  /** Counters that are kept elsewhere. */
  countersOf(options: LabelledOptions, read: ReadSeries): void {
    this.#registerRead("counter", options, read);
  }

  #registerRead(type: string, options: LabelledOptions, read: ReadSeries): void {
    const text = (values: readonly string[]): string =>
      options.labels.map((label, i) => `${label}="${escapeLabel(values[i] ?? "")}"`).join(",");
    this.#register(type, { name: options.name, help: options.help }, () => ({
      lines: (name) =>
        read().map(({ labels, value }) => {
          const inside = text(labels);
          return `${name}${inside === "" ? "" : `{${inside}}`} ${show(value)}`;
        }),
    })).series([]);
  }

  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): Bind<Histogram> {
    const family = this.#register("histogram", options, () => new BucketSeries(options.buckets));
    return (...values) => family.series(values);
  }

  /** Quantiles of the latest values, with the sum and count of all. */
  summary(options: MetricOptions): Bind<Histogram> {
    const family = this.#register("summary", options, () => new LatestSeries());
    return (...values) => family.series(values);
  }

  /** The whole registry as text, families in order of name. */
  text(): string {
    const families = this.#allFamilies().sort((a, b) => (a.name < b.name ? -1 : 1));
    // Parts may have families of the same name, for other labels: their head is written once.
    return families.map((family, i) => family.text(family.name !== families[i - 1]?.name)).join("");
  }

  #allFamilies(): Family[] {
    const included = [...this.#parts].flatMap((part) => part.#allFamilies());
    return [...this.#families.values(), ...included];
  }

  #register<S extends Series>(type: string, options: MetricOptions, create: () => S): Family<S> {
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(options.name))
      throw new Error(`bad name ${options.name}`);
    if (this.#families.has(options.name)) throw new Error(`${options.name} is registered already`);
    const family = new Family(type, options, create);
    this.#families.set(options.name, family);
    return family;
  }
}

interface Series {
  /** `labels` is the inside of the braces, without the braces. */
  lines(name: string, labels: string): readonly string[];
}

class Family<S extends Series = Series> {
  readonly #type: string;
  readonly #options: MetricOptions;
  readonly #create: () => S;
  readonly #series = new Map<string, S>();

  constructor(type: string, options: MetricOptions, create: () => S) {
    this.#type = type;
    this.#options = options;
    this.#create = create;
  }

  get name(): string {
    return this.#options.name;
  }

  series(values: readonly string[]): S {
    const names = this.#options.labels ?? [];
    if (values.length !== names.length) {
      throw new Error(`${this.#options.name} has ${names.length} labels, got ${values.length}`);
    }
    const key = names.map((name, i) => `${name}="${escapeLabel(values[i]!)}"`).join(",");
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    if (this.#series.size >= (this.#options.seriesMax ?? SERIES_MAX)) {
      const overflow = names.map((name) => `${name}="overflow"`).join(",");
      return this.#getOrCreate(overflow);
    }
    return this.#getOrCreate(key);
  }

  text(withHead: boolean): string {
    const { name, help } = this.#options;
    const described = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${this.#type}\n`;
    const head = withHead ? described : "";
    const lines = [...this.#series].flatMap(([labels, series]) => series.lines(name, labels));
    return lines.length === 0 ? head : `${head}${lines.join("\n")}\n`;
  }

  #getOrCreate(key: string): S {
    let series = this.#series.get(key);
    if (series === undefined) {
      series = this.#create();
      this.#series.set(key, series);
    }
    return series;
  }
}

class NumberSeries implements Series, Gauge {
  #value = 0;

  add(amount: number): void {
    this.#value += amount;
  }

  set(value: number): void {
    this.#value = value;
  }

  lines(name: string, labels: string): readonly string[] {
    return [`${name}${braced(labels)} ${show(this.#value)}`];
  }
}

class BucketSeries implements Series, Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    let bucket = 0;
    while (bucket < this.#bounds.length && value > this.#bounds[bucket]!) bucket += 1;
    this.#counts[bucket]! += 1;
    this.#sum += value;
  }

  lines(name: string, labels: string): readonly string[] {
    const comma = labels === "" ? "" : ",";
    let count = 0;
    const buckets = [...this.#bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
      count += this.#counts[index]!;
      return `${name}_bucket{${labels}${comma}le="${show(bound)}"} ${count}`;
    });
    const tail = braced(labels);
    return [...buckets, `${name}_sum${tail} ${show(this.#sum)}`, `${name}_count${tail} ${count}`];
  }
}

/** Values that a summary's quantiles are of. */
const LATEST_MAX = 512;
const QUANTILES = [0.5, 0.9, 0.99];

class LatestSeries implements Series, Histogram {
  readonly #latest = new Float64Array(LATEST_MAX);
  #count = 0;
  #sum = 0;

  observe(value: number): void {
    this.#latest[this.#count % LATEST_MAX] = value;
    this.#count += 1;
    this.#sum += value;
  }

  lines(name: string, labels: string): readonly string[] {
    const sorted = this.#latest.slice(0, Math.min(this.#count, LATEST_MAX)).sort();
    const comma = labels === "" ? "" : ",";
    const quantiles = QUANTILES.map((part) => {
      const value = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN;
      return `${name}{${labels}${comma}quantile="${part}"} ${show(value)}`;
    });
    const tail = braced(labels);
    return [
      ...quantiles,
      `${name}_sum${tail} ${show(this.#sum)}`,
      `${name}_count${tail} ${this.#count}`,
    ];
  }
}

function braced(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

/** As Go writes numbers: from a million on, and below a ten-thousandth, with an exponent. */
function show(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  if (Number.isNaN(value)) return "NaN";
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"\n]/g, (c) => (c === "\n" ? "\\n" : `\\${c}`));
}

function escapeHelp(text: string): string {
  return text.replace(/[\\\n]/g, (c) => (c === "\n" ? "\\n" : "\\\\"));
}
