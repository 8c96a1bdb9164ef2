/**
 * The latest two points of a node and of the containers of its pods.
 *
 * Promises:
 * 1. A container takes five numbers in one array for both points. While the pods of the node stay the same, a
 *    scrape changes these numbers in place: it makes no objects that live until the next scrape, which in a
 *    large cluster would keep the garbage collector busy all the time.
 * 2. A point of a restarted container is not compared with a point from before the restart. A container that
 *    started within the last resolution, at least 10 s ago, is compared with its start.
 */
import type { NodeSample, UsagePoint } from "../scrape/node-sample.ts";

export interface Usage {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly timeMs: number;
  readonly windowMs: number;
}

export interface PodUsage {
  /** Of the container that was measured the earliest. */
  readonly timeMs: number;
  readonly windowMs: number;
  readonly containers: readonly { readonly name: string; readonly usage: Usage }[];
}

const FRESH_CONTAINER_MIN_MS = 10_000;

/** The numbers of a row. NaN: there is no such point. */
const LAST_MS = 0;
const LAST_CPU_SECONDS = 1;
const LAST_MEMORY_BYTES = 2;
const PREVIOUS_MS = 3;
const PREVIOUS_CPU_SECONDS = 4;
const ROW_LENGTH = 5;

/** The first row is that of the node, the others are those of containers. */
const NODE_ROW = 0;

export class NodeUsage {
  /** Of each row of a container: the key of its pod, which is `namespace/name`, and its name. */
  readonly #pods: readonly string[];
  readonly #containers: readonly string[];
  /** The first row of each pod; the containers of a pod follow each other. */
  readonly #firstRows: ReadonlyMap<string, number>;
  readonly #numbers: Float64Array;

  /** For the containers of the sample, with what an earlier one knew of them. Its points are not taken yet. */
  constructor(sample: NodeSample, earlier?: NodeUsage) {
    const pods: string[] = [""];
    const containers: string[] = [""];
    const firstRows = new Map<string, number>();
    for (const [key, points] of sample.pods) {
      firstRows.set(key, pods.length);
      for (const name of points.keys()) {
        pods.push(key);
        containers.push(name);
      }
    }
    this.#pods = pods;
    this.#containers = containers;
    this.#firstRows = firstRows;
    this.#numbers = new Float64Array(pods.length * ROW_LENGTH).fill(Number.NaN);
    if (earlier === undefined) return;
    this.#copy(NODE_ROW, earlier, NODE_ROW);
    for (let row = NODE_ROW + 1; row < pods.length; row++) {
      const known = earlier.#rowOf(pods[row]!, containers[row]!);
      if (known !== undefined) this.#copy(row, earlier, known);
    }
  }

  /** Takes the points of a sample; false, and nothing is taken, if they are not of the same containers. */
  take(sample: NodeSample, resolutionMs: number): boolean {
    if (!this.#isOf(sample)) return false;
    if (sample.node === undefined) this.#numbers.fill(Number.NaN, 0, ROW_LENGTH);
    else this.#take(NODE_ROW, sample.node);
    let row = NODE_ROW + 1;
    for (const points of sample.pods.values()) {
      for (const point of points.values()) this.#takeContainer(row++, point, resolutionMs);
    }
    return true;
  }

  /** Whether the node itself was measured once only. */
  get isSingle(): boolean {
    return !Number.isNaN(this.#numbers[LAST_MS]!) && Number.isNaN(this.#numbers[PREVIOUS_MS]!);
  }

  node(): Usage | undefined {
    return this.#usage(NODE_ROW);
  }

  /** Undefined unless all containers of the pod have usage. */
  pod(key: string): PodUsage | undefined {
    const first = this.#firstRows.get(key);
    if (first === undefined) return undefined;
    const containers: { readonly name: string; readonly usage: Usage }[] = [];
    let earliest: Usage | undefined;
    for (let row = first; this.#pods[row] === key; row++) {
      const usage = this.#usage(row);
      if (usage === undefined) return undefined;
      containers.push({ name: this.#containers[row]!, usage });
      if (earliest === undefined || usage.timeMs < earliest.timeMs) earliest = usage;
    }
    if (earliest === undefined) return undefined;
    return { timeMs: earliest.timeMs, windowMs: earliest.windowMs, containers };
  }

  /** Every pod that has usage. */
  *pods(): Generator<readonly [key: string, usage: PodUsage]> {
    for (const key of this.#firstRows.keys()) {
      const usage = this.pod(key);
      if (usage !== undefined) yield [key, usage];
    }
  }

  #isOf({ pods }: NodeSample): boolean {
    if (pods.size !== this.#firstRows.size) return false;
    let row = NODE_ROW + 1;
    for (const [key, points] of pods) {
      for (const name of points.keys()) {
        if (this.#pods[row] !== key || this.#containers[row] !== name) return false;
        row += 1;
      }
    }
    return row === this.#pods.length;
  }

  #rowOf(pod: string, container: string): number | undefined {
    const first = this.#firstRows.get(pod);
    if (first === undefined) return undefined;
    for (let row = first; this.#pods[row] === pod; row++) {
      if (this.#containers[row] === container) return row;
    }
    return undefined;
  }

  #takeContainer(row: number, point: UsagePoint, resolutionMs: number): void {
    const { timeMs, startMs } = point;
    const ageMs = timeMs - startMs;
    if (startMs > 0 && ageMs >= FRESH_CONTAINER_MIN_MS && ageMs < resolutionMs) {
      this.#set(row, point, startMs, 0);
      return;
    }
    const lastMs = this.#numbers[row * ROW_LENGTH + LAST_MS]!;
    // Started after the stored point: a restarted container counts from zero.
    if (startMs >= lastMs) this.#set(row, point, Number.NaN, Number.NaN);
    else this.#take(row, point);
  }

  #take(row: number, point: UsagePoint): void {
    const at = row * ROW_LENGTH;
    const lastMs = this.#numbers[at + LAST_MS]!;
    if (point.timeMs > lastMs) {
      this.#set(row, point, lastMs, this.#numbers[at + LAST_CPU_SECONDS]!);
      return;
    }
    // The kubelet answered with the same measurement again: the older point is still the one to compare with.
    const previousMs = this.#numbers[at + PREVIOUS_MS]!;
    if (previousMs < point.timeMs) {
      this.#set(row, point, previousMs, this.#numbers[at + PREVIOUS_CPU_SECONDS]!);
    } else {
      this.#set(row, point, Number.NaN, Number.NaN);
    }
  }

  #set(row: number, last: UsagePoint, previousMs: number, previousCpuSeconds: number): void {
    const at = row * ROW_LENGTH;
    this.#numbers[at + LAST_MS] = last.timeMs;
    this.#numbers[at + LAST_CPU_SECONDS] = last.cpuSeconds;
    this.#numbers[at + LAST_MEMORY_BYTES] = last.memoryBytes;
    this.#numbers[at + PREVIOUS_MS] = previousMs;
    this.#numbers[at + PREVIOUS_CPU_SECONDS] = previousCpuSeconds;
  }

  #copy(row: number, from: NodeUsage, fromRow: number): void {
    const start = fromRow * ROW_LENGTH;
    const numbers = from.#numbers.subarray(start, start + ROW_LENGTH);
    this.#numbers.set(numbers, row * ROW_LENGTH);
  }

  #usage(row: number): Usage | undefined {
    const at = row * ROW_LENGTH;
    const timeMs = this.#numbers[at + LAST_MS]!;
    const windowMs = timeMs - this.#numbers[at + PREVIOUS_MS]!;
    const usedSeconds =
      this.#numbers[at + LAST_CPU_SECONDS]! - this.#numbers[at + PREVIOUS_CPU_SECONDS]!;
    // Neither holds for NaN.
    if (!(windowMs > 0 && usedSeconds >= 0)) return undefined;
    const memoryBytes = this.#numbers[at + LAST_MEMORY_BYTES]!;
    return { cpuCores: usedSeconds / (windowMs / 1000), memoryBytes, timeMs, windowMs };
  }
}
