/**
 * Usage of nodes and pods over the last hour, for charts.
 *
 * Promises:
 * 1. A sample of a series (processor and memory) takes 4 bytes: two 16-bit numbers on a logarithmic scale,
 *    exact to 0.02 %, from 1 µ-core to 4,000 cores and from 4 KiB to 16 TiB.
 * 2. At most ROUNDS_MAX rounds of BYTES_MAX together, and SERIES_MAX series are kept; more series are not
 *    recorded. In a very large cluster that is less than an hour.
 * 3. A series that has no sample left is forgotten.
 *
 * The samples of one round lie in one array (a column); a series is a slot, the same in every column. A slot
 * is given to another series only when the last column with a sample of the old one is gone.
 */

export interface HistorySample {
  readonly timeMs: number;
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

interface Series {
  readonly slot: number;
  /** Number of the last round that has a sample of it. */
  lastRound: number;
}

interface Column {
  readonly timeMs: number;
  /** Two numbers for each slot; 0 is no sample. */
  codes: Uint16Array;
}

const HISTORY_MS = 3_600_000;
const ROUNDS_MAX = 400;
const SERIES_MAX = 250_000;
const BYTES_MAX = 48 * 1024 * 1024;
const SLOTS_MIN = 64;

export class UsageHistory {
  readonly #series = new Map<string, Series>();
  readonly #free: number[] = [];
  #columns: Column[] = [];
  /** Number of the first column. */
  #firstRound = 0;
  #slots = 0;

  get seriesCount(): number {
    return this.#series.size;
  }

  /** Of all samples, without what the names of series take. */
  get sampleBytes(): number {
    return this.#columns.reduce((sum, { codes }) => sum + codes.byteLength, 0);
  }

  beginRound(timeMs: number): void {
    this.#columns.push({ timeMs, codes: new Uint16Array(2 * Math.max(SLOTS_MIN, this.#slots)) });
    const isOld = ({ timeMs: then }: Column): boolean => then < timeMs - HISTORY_MS;
    const old = this.#columns.findIndex((column) => !isOld(column));
    const dropped = Math.max(old, this.#columns.length - ROUNDS_MAX, this.#overflow());
    if (dropped === 0) return;
    this.#columns = this.#columns.slice(dropped);
    this.#firstRound += dropped;
    this.#forget();
  }

  /** In the round that began last. */
  add(key: string, cpuCores: number, memoryBytes: number): void {
    const column = this.#columns.at(-1);
    const series = this.#series.get(key) ?? this.#create(key);
    if (column === undefined || series === undefined) return;
    series.lastRound = this.#firstRound + this.#columns.length - 1;
    if (2 * series.slot >= column.codes.length) column.codes = grown(column.codes, series.slot);
    column.codes[2 * series.slot] = encode(cpuCores, CPU_UNIT);
    column.codes[2 * series.slot + 1] = encode(memoryBytes, MEMORY_UNIT);
  }

  /** Oldest first. */
  samples(key: string): readonly HistorySample[] {
    const slot = this.#series.get(key)?.slot;
    if (slot === undefined) return [];
    return this.#columns.flatMap(({ timeMs, codes }) => {
      const [cpu = 0, memory = 0] = codes.subarray(2 * slot, 2 * slot + 2);
      if (cpu === 0) return [];
      return [
        { timeMs, cpuCores: decode(cpu, CPU_UNIT), memoryBytes: decode(memory, MEMORY_UNIT) },
      ];
    });
  }

  /** How many of the oldest columns are too much together. */
  #overflow(): number {
    let bytes = 0;
    const first = this.#columns.findLastIndex(({ codes }) => {
      bytes += codes.byteLength;
      return bytes > BYTES_MAX;
    });
    return first + 1;
  }

  #create(key: string): Series | undefined {
    if (this.#series.size >= SERIES_MAX) return undefined;
    const series = { slot: this.#free.pop() ?? this.#slots++, lastRound: 0 };
    this.#series.set(key, series);
    return series;
  }

  #forget(): void {
    for (const [key, { slot, lastRound }] of this.#series) {
      if (lastRound >= this.#firstRound) continue;
      this.#series.delete(key);
      this.#free.push(slot);
    }
  }
}

const CPU_UNIT = 1e-6;
const MEMORY_UNIT = 4096;
const STEPS_PER_OCTAVE = 2047;
const CODE_MAX = 65_535;

/** 0 is kept for "no sample". */
function encode(value: number, unit: number): number {
  const steps = Math.round(Math.log2(1 + Math.max(0, value) / unit) * STEPS_PER_OCTAVE);
  return Math.min(CODE_MAX, 1 + steps);
}

function decode(code: number, unit: number): number {
  return (2 ** ((code - 1) / STEPS_PER_OCTAVE) - 1) * unit;
}

function grown(codes: Uint16Array, slot: number): Uint16Array {
  const larger = new Uint16Array(2 * Math.max(SLOTS_MIN, Math.ceil(slot * 1.25) + 1));
  larger.set(codes);
  return larger;
}
