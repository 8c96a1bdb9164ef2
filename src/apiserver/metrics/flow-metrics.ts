/** Metrics of priority and fairness; gauges are read on scrape. */
import type { Metrics } from "#lib/metrics.ts";
import type { ConcurrencyLimiter, LevelState } from "../flow/concurrency-limiter.ts";
import type { LevelCounts } from "../flow/priority-level.ts";

const PREFIX = "apiserver_flowcontrol_";
const WAIT_SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const FLOW = ["flow_schema", "priority_level"];

export function addFlowMetrics(metrics: Metrics, flow: ConcurrencyLimiter | undefined): void {
  if (flow?.levels === undefined) return;
  const levels = flow.levels.bind(flow);
  observeRequests(metrics, flow);
  addLimits(metrics, levels);
  addOccupancy(metrics, levels);
  countOutcomes(metrics, levels);
}

type Levels = () => readonly LevelState[];

function observeRequests(metrics: Metrics, flow: ConcurrencyLimiter): void {
  const waits = metrics.histogram({
    name: `${PREFIX}request_wait_duration_seconds`,
    help: "Time that requests waited for their turn, by whether it came.",
    labels: ["execute", ...FLOW],
    buckets: WAIT_SECONDS,
  });
  const seats = metrics.histogram({
    name: `${PREFIX}work_estimated_seats`,
    help: "Seats that requests were thought to need.",
    labels: FLOW,
    buckets: [1, 2, 4, 8, 16, 32, 64, 100],
  });
  const executed = metrics.histogram({
    name: `${PREFIX}request_execution_seconds`,
    help: "Execution time of requests; of watches until their initial events were sent.",
    labels: [...FLOW, "type"],
    buckets: WAIT_SECONDS,
  });
  const joined = metrics.histogram({
    name: `${PREFIX}request_queue_length_after_enqueue`,
    help: "How long the queues were that requests joined.",
    labels: FLOW,
    buckets: [0, 10, 25, 50, 100, 250, 500, 1000],
  });
  const watchers = metrics.histogram({
    name: `${PREFIX}watch_count_samples`,
    help: "How many watched what requests wrote.",
    labels: FLOW,
    buckets: [0, 1, 10, 100, 1000, 10_000],
  });
  flow.observe?.((schema, level) => {
    const regular = executed(schema, level, "regular");
    return {
      run: waits("true", schema, level),
      refused: waits("false", schema, level),
      seats: seats(schema, level),
      joined: joined(schema, level),
      watchers: watchers(schema, level),
      executed: (verb) => (verb === "watch" ? executed(schema, level, "watch") : regular),
    };
  });
}

/** How many seats each level may use. */
function addLimits(metrics: Metrics, levels: Levels): void {
  const gauge = (name: string, help: string, read: (state: LevelState) => number): void =>
    metrics.gaugesOf({ name: `${PREFIX}${name}`, help, labels: ["priority_level"] }, () =>
      levels().map((state) => ({ labels: [state.name], value: read(state) })),
    );
  const limited = ({ level }: LevelState): number => level?.seats ?? 0;
  gauge("nominal_limit_seats", "The level's own share of seats.", limited);
  gauge("current_limit_seats", "Seats that the level may use now.", limited);
  gauge(
    "lower_limit_seats",
    "Seats that the level never lends.",
    ({ level }) => (level?.seats ?? 0) - (level?.lendable ?? 0),
  );
  gauge("upper_limit_seats", "Seats that the level may use at most.", ({ level }) => {
    const most = level?.seatsMax ?? 0;
    return Number.isFinite(most) ? most : levels().reduce((sum, one) => sum + limited(one), 0);
  });
}

/** Executing and queued requests. */
function addOccupancy(metrics: Metrics, levels: Levels): void {
  const gauge = (name: string, help: string, read: (counts: LevelCounts) => number): void =>
    metrics.gaugesOf({ name: `${PREFIX}${name}`, help, labels: FLOW }, () =>
      levels().flatMap((level) => ofFlows(level, read)),
    );
  gauge("current_executing_seats", "Seats in use.", ({ seats }) => seats);
  gauge("current_executing_requests", "Requests that run.", ({ running }) => running);
  gauge("current_inqueue_requests", "Requests that wait.", ({ waiting }) => waiting);
  gauge("current_inqueue_seats", "Seats that they wait for.", ({ waitingSeats }) => waitingSeats);
}

function countOutcomes(metrics: Metrics, levels: Levels): void {
  metrics.countersOf(
    {
      name: `${PREFIX}dispatched_requests_total`,
      help: "Requests that were let through.",
      labels: FLOW,
    },
    () => levels().flatMap((level) => ofFlows(level, ({ dispatched }) => dispatched)),
  );
  metrics.countersOf(
    {
      name: `${PREFIX}rejected_requests_total`,
      help: "Requests that were turned away, by reason.",
      labels: [...FLOW, "reason"],
    },
    () => levels().flatMap(rejections),
  );
}

function ofFlows({ name, flows }: LevelState, read: (counts: LevelCounts) => number) {
  return [...flows].map(([schema, counts]) => ({ labels: [schema, name], value: read(counts) }));
}

function rejections({ name, flows }: LevelState) {
  return [...flows].flatMap(([schema, { rejected }]) =>
    Object.entries(rejected)
      .filter(([, value]) => value > 0)
      .map(([reason, value]) => ({ labels: [schema, name, reason], value })),
  );
}
