/** Flow control's state among the metrics, read when someone looks. */
import type { Metrics } from "#lib/metrics.ts";
import type { LevelState, TurnTaking } from "./flow-control.ts";
import type { LevelCounts } from "./priority-level.ts";

const PREFIX = "apiserver_flowcontrol_";
const WAIT_SECONDS = [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30];
const FLOW = ["flow_schema", "priority_level"];

export function addFlowMetrics(metrics: Metrics, flow: TurnTaking | undefined): void {
  if (flow?.levels === undefined) return;
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
    help: "Time that requests were worked on; watches until they had told what was there.",
    labels: [...FLOW, "type"],
    buckets: WAIT_SECONDS,
  });
  flow.observe?.((schema, level) => {
    const regular = executed(schema, level, "regular");
    return {
      run: waits("true", schema, level),
      refused: waits("false", schema, level),
      seats: seats(schema, level),
      executed: (verb) => (verb === "watch" ? executed(schema, level, "watch") : regular),
    };
  });
  const levels = (): readonly LevelState[] => flow.levels!();
  const ofLevel = (name: string, help: string, read: (state: LevelState) => number): void =>
    metrics.gaugesOf({ name: `${PREFIX}${name}`, help, labels: ["priority_level"] }, () =>
      levels().map((state) => ({ labels: [state.name], value: read(state) })),
    );
  const ofFlows = (read: (counts: LevelCounts) => number) => () =>
    levels().flatMap(({ name, flows }) =>
      [...flows].map(([schema, counts]) => ({ labels: [schema, name], value: read(counts) })),
    );
  const limited = ({ level }: LevelState): number => level?.seats ?? 0;
  ofLevel("nominal_limit_seats", "The level's own share of seats.", limited);
  ofLevel("current_limit_seats", "Seats that the level may use now.", limited);
  ofLevel(
    "lower_limit_seats",
    "Seats that the level never lends.",
    ({ level }) => (level?.seats ?? 0) - (level?.lendable ?? 0),
  );
  ofLevel("upper_limit_seats", "Seats that the level may use at most.", ({ level }) => {
    const most = level?.seatsMax ?? 0;
    return Number.isFinite(most) ? most : levels().reduce((sum, one) => sum + limited(one), 0);
  });
  metrics.gaugesOf(
    { name: `${PREFIX}current_executing_seats`, help: "Seats in use.", labels: FLOW },
    () => levels().flatMap(seatsInUse),
  );
  metrics.gaugesOf(
    { name: `${PREFIX}current_executing_requests`, help: "Requests that run.", labels: FLOW },
    ofFlows(({ running }) => running),
  );
  metrics.gaugesOf(
    { name: `${PREFIX}current_inqueue_requests`, help: "Requests that wait.", labels: FLOW },
    ofFlows(({ waiting }) => waiting),
  );
  metrics.countersOf(
    {
      name: `${PREFIX}dispatched_requests_total`,
      help: "Requests that were let through.",
      labels: FLOW,
    },
    ofFlows(({ dispatched }) => dispatched),
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

function seatsInUse({ name, flows }: LevelState) {
  return [...flows].map(([schema, { seats }]) => ({ labels: [schema, name], value: seats }));
}

function rejections({ name, flows }: LevelState) {
  return [...flows].flatMap(([schema, { rejected }]) =>
    Object.entries(rejected)
      .filter(([, value]) => value > 0)
      .map(([reason, value]) => ({ labels: [schema, name, reason], value })),
  );
}
