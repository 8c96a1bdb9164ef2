/** /debug/api_priority_and_fairness: the state of flow control as tables for people. */

import type { ConcurrencyLimiter, LevelState } from "../flow/concurrency-limiter.ts";
import type { LevelCounts } from "../flow/priority-level.ts";
import type { PathHandler } from "../request/handler.ts";
import { textAnswer } from "../response/answer.ts";

const ROOT = "/debug/api_priority_and_fairness/";
const COLUMN_WIDTH_MIN = 8;

export function flowPaths(flow: ConcurrencyLimiter | undefined): PathHandler {
  return ({ path }) => {
    if (!path.startsWith(ROOT) || flow?.levels === undefined) return undefined;
    const dump = DUMPS[path.slice(ROOT.length)];
    return dump === undefined ? undefined : textAnswer(200, table(dump(flow.levels())));
  };
}

type Row = readonly (string | number | boolean)[];

const DUMPS: Readonly<Record<string, (levels: readonly LevelState[]) => Row[]>> = {
  dump_priority_levels: (levels) => [LEVEL_COLUMNS, ...levels.map(levelRow)],
  dump_queues: (levels) => [QUEUE_COLUMNS, ...levels.flatMap(queueRows)],
  dump_requests: (levels) => [REQUEST_COLUMNS, ...levels.flatMap(requestRows)],
};

const LEVEL_COLUMNS: Row = [
  "PriorityLevelName",
  "ActiveQueues",
  "IsIdle",
  "IsQuiescing",
  "WaitingRequests",
  "ExecutingRequests",
  "DispatchedRequests",
  "RejectedRequests",
  "TimedoutRequests",
  "CancelledRequests",
];

function levelRow({ name, level, flows }: LevelState): Row {
  const all = [...flows.values()];
  const sum = (read: (counts: LevelCounts) => number): number =>
    all.reduce((total, counts) => total + read(counts), 0);
  const active = [...(level?.queue?.waiting() ?? [])].filter(([, waiting]) => waiting.length > 0);
  const [waits, runs] = [level?.waiting ?? 0, level?.running ?? 0];
  return [
    name,
    active.length,
    level !== undefined && waits === 0 && runs === 0,
    false,
    waits,
    runs,
    sum(({ dispatched }) => dispatched),
    sum(({ rejected }) => rejected["queue-full"] + rejected["concurrency-limit"]),
    sum(({ rejected }) => rejected["time-out"]),
    sum(({ rejected }) => rejected.cancelled),
  ];
}

const QUEUE_COLUMNS: Row = [
  "PriorityLevelName",
  "Index",
  "PendingRequests",
  "ExecutingRequests",
  "SeatsInUse",
  "NextDispatchR",
  "InitialSeatsSum",
  "MaxSeatsSum",
  "TotalWorkSum",
];
/** Turns go round the queues here; no queue has a virtual time of its own. */
const NO_WORK = "0.00000000ss";

function queueRows({ name, level }: LevelState): Row[] {
  return [...(level?.queue?.waiting() ?? [])].map(([index, waiting]) => {
    const seats = waiting.reduce((sum, one) => sum + one.seats, 0);
    return [name, index, waiting.length, 0, 0, NO_WORK, seats, seats, NO_WORK];
  });
}

const REQUEST_COLUMNS: Row = [
  "PriorityLevelName",
  "FlowSchemaName",
  "QueueIndex",
  "RequestIndexInQueue",
  "FlowDistingsher",
  "InitialSeats",
];

/** Those that wait: what runs is not kept apart. */
function requestRows({ name, level }: LevelState): Row[] {
  return [...(level?.queue?.waiting() ?? [])].flatMap(([index, waiting]) =>
    waiting.map(({ flow, seats }, place): Row => {
      const [schema = "", ...whose] = flow.split("/");
      return [name, schema, index, place, whose.join("/"), seats];
    }),
  );
}

/** Columns as wide as their widest cell, a comma after each but the last. */
function table(rows: readonly Row[]): string {
  const cells = rows.map((row) =>
    row.map((cell, at) => (at === row.length - 1 ? String(cell) : `${cell},`)),
  );
  const widths = cells[0]!.map((_, at) =>
    Math.max(COLUMN_WIDTH_MIN, ...cells.map((row) => row[at]!.length + 1)),
  );
  const line = (row: readonly string[]): string =>
    row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at]!))).join("");
  return cells.map((row) => `${line(row)}\n`).join("");
}
