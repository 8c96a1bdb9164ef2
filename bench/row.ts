/** What a benchmark reports: a figure beside the limit that was measured in the same run. */
export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly limit?: number;
  readonly limitName?: string;
  /** value ÷ limit unless given. */
  readonly ratio?: number;
  /** The ratio to reach; `unit` says which way is better (`/s` up, everything else down). */
  readonly target?: number;
}

export interface BenchOptions {
  readonly quick: boolean;
  readonly signal: AbortSignal;
  progress(text: string): void;
}

export interface Bench {
  readonly name: string;
  run(options: BenchOptions): AsyncIterable<Row>;
}

/** A figure beside the wish of the project. */
export function wanted(row: string, value: number, unit: string, wish: number): Row {
  return { name: row, value, unit, limit: wish, limitName: `${unit} wanted`, target: 1 };
}
