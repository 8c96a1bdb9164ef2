/**
 * What the load of the fault campaign saw, one JSON record a line. All times are milliseconds of the
 * machine's monotonic clock, which every process of the campaign shares (clock skew does not touch it).
 */

/** One request of one client. */
export interface Operation {
  readonly k: "op";
  readonly client: string;
  readonly object: string;
  readonly verb: "read" | "create" | "update" | "delete";
  readonly startMs: number;
  readonly endMs: number;
  /** `refused`: certainly not carried out. `unknown`: no response, or an error of the server. */
  readonly outcome: "ok" | "refused" | "unknown";
  /** Name of the API server. */
  readonly server: string;
  readonly code: number;
  /** Of the answer. A deletion has none. */
  readonly revision?: number;
  /** What was written or read; undefined in a read that found nothing. */
  readonly value?: string;
  /** An update names the revision that it replaces. */
  readonly from?: number;
}

/** A watch of one client began or went on after this revision, with a list of what was there, or without. */
export interface WatchBegin {
  readonly k: "begin";
  readonly watcher: string;
  readonly revision: number;
  readonly items: readonly Item[];
  readonly atMs: number;
}

export interface WatchEvent {
  readonly k: "event";
  readonly watcher: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: string;
  readonly revision: number;
  readonly value: string;
  readonly atMs: number;
}

/** A lease of leader election has this holder from this revision on. */
export interface LeaseRecord {
  readonly k: "lease";
  readonly name: string;
  readonly holder: string;
  readonly revision: number;
}

/** A pod has a node from this revision on. */
export interface BoundPod {
  readonly k: "bound";
  readonly pod: string;
  readonly revision: number;
}

/** All objects as one API server lists them at the end. */
export interface FinalList {
  readonly k: "final";
  readonly server: string;
  readonly items: readonly Item[];
}

/** Name, revision and value. */
export type Item = readonly [name: string, revision: number, value: string];

export type HistoryRecord =
  | Operation
  | WatchBegin
  | WatchEvent
  | LeaseRecord
  | BoundPod
  | FinalList;

export function parseHistory(text: string): HistoryRecord[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as HistoryRecord);
}

export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000;
}
