/**
 * Gives memory back after a burst of work. V8 collects only while something is allocated: a server
 * that has been busy and then is left alone would hold the garbage of its busiest moment for ever.
 *
 * Promises:
 * 1. It collects only after some quiet looks in a row, and only if there is much to gain: a thorough
 *    collection also forgets what V8 has learned of short-lived objects, and what comes next costs about
 *    1.6 times as much until that is learned again (1,000 to 2,000 creates of pods).
 * 2. What is left after a collection counts as needed: it is not tried again before more has come,
 *    but for once, later: what is kept for a while after work (windows of changes) is gone by then.
 * 3. `onRest` is called when it has been quiet for the first time, and after each collection.
 * 4. It leaves large heaps to V8, which collects them little by little: a thorough collection marks them twice
 *    while everything else stands still, 1.8 seconds with 150,000 pods.
 */
import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { onAbort } from "./async/aborted.ts";
import { findTrim } from "./native/trim-heap.ts";
import type { Clock } from "./time/clock.ts";

const LOOK_EVERY_MS_DEFAULT = 2_000;
/** Less than this part of the time at work is quiet. */
const QUIET = 0.05;
const QUIET_MS_DEFAULT = 4_000;
const SECOND_AFTER_MS = 180_000;
const GAIN_BYTES_MIN_DEFAULT = 24 * 1024 * 1024;
/** Collected in half a second. */
const HEAP_BYTES_MAX = 384 * 1024 * 1024;

/** Older Node versions do not support these options of `gc`, and collect less when they get them. */
const NODE_MAJOR = Number.parseInt(process.versions.node, 10);
const THOROUGHLY = { type: "major", execution: "sync", flavor: "last-resort" };

export interface Heap {
  /** What the thread's heap takes up. */
  bytes(): number;
  /** The part of the time since the last call that this thread was at work. */
  utilization(): number;
  collect(): void;
}

export interface IdleGcOptions {
  /** What a collection must promise: less for programs of small heaps, whose collections are short. */
  readonly gainBytesMin?: number;
  /** How long it must be quiet first: longer for programs whose work comes in bursts. */
  readonly quietMs?: number;
  /** Less often for programs that rest nearly all of the time: each look wakes them. */
  readonly lookEveryMs?: number;
  /** Gives back what only the work, or the collection, needed. */
  readonly onRest?: () => void;
}

/** Work comes again within this time while anything is going on: clients poll, controllers retry. */
export const QUIET_SERVER_MS = 20_000;

/** Looks after this thread's heap until the signal aborts. */
export function collectWhenIdle(
  clock: Clock,
  heap: Heap,
  signal: AbortSignal,
  options: IdleGcOptions = {},
): void {
  const { gainBytesMin = GAIN_BYTES_MIN_DEFAULT, quietMs = QUIET_MS_DEFAULT } = options;
  const { lookEveryMs = LOOK_EVERY_MS_DEFAULT, onRest } = options;
  const quietLooksMin = Math.ceil(quietMs / lookEveryMs);
  let quietLooks = 0;
  let looksUntilSecond = Number.POSITIVE_INFINITY;
  let neededBytes = heap.bytes();
  let hasRested = false;
  const look = (): void => {
    if (signal.aborted) return;
    quietLooks = heap.utilization() < QUIET ? quietLooks + 1 : 0;
    const bytes = heap.bytes();
    neededBytes = Math.min(neededBytes, bytes);
    looksUntilSecond -= 1;
    const first = bytes - neededBytes >= gainBytesMin;
    const isQuiet = quietLooks >= quietLooksMin;
    const isWorthwhile = (first || looksUntilSecond <= 0) && bytes <= HEAP_BYTES_MAX;
    if (isQuiet && isWorthwhile) {
      heap.collect();
      neededBytes = heap.bytes();
      looksUntilSecond = first ? SECOND_AFTER_MS / lookEveryMs : Number.POSITIVE_INFINITY;
    }
    if (isQuiet && (isWorthwhile || !hasRested)) {
      hasRested = true;
      onRest?.();
    }
    timer = clock.schedule(lookEveryMs, look);
  };
  let timer = clock.schedule(lookEveryMs, look);
  onAbort(signal, () => timer.cancel());
}

export interface OwnHeapOptions {
  /** After a collection, native memory that it freed is given back as well, where that is possible. */
  readonly trimNative?: boolean;
  /** Counts the memory of buffers, too: for programs whose garbage is mostly buffers. */
  readonly withBuffers?: boolean;
}

/**
 * V8 collects on its own a while after a collection when little is allocated. With `collectWhenIdle` that is
 * a second time: 30 ms of work of a program that rests, for less than 1 MB.
 */
export function withoutMemoryReducer(): void {
  setFlagsFromString("--memory-reducer-gc-count=0");
}

/** The heap of the thread that asks. */
export function ownHeap({ trimNative = false, withBuffers = false }: OwnHeapOptions = {}): Heap {
  let last = performance.eventLoopUtilization();
  let collect: ((options?: object) => void) | undefined;
  let trim: (() => void) | undefined;
  return {
    bytes: () => {
      const { total_heap_size, external_memory } = getHeapStatistics();
      return total_heap_size + (withBuffers ? external_memory : 0);
    },
    utilization: () => {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, last);
      last = now;
      return utilization;
    },
    collect: () => {
      if (collect === undefined) {
        setFlagsFromString("--expose-gc"); // for contexts that are made from now on
        collect = runInNewContext("gc") as (options?: object) => void;
        trim = trimNative ? findTrim() : undefined;
      }
      collect(NODE_MAJOR < 22 ? undefined : THOROUGHLY);
      trim?.();
    },
  };
}
