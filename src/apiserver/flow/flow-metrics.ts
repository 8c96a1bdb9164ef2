/** Flow control's state among the metrics, read when someone looks. */
import type { Metrics } from "#lib/metrics.ts";
import type { LevelState, TurnTaking } from "./flow-control.ts";

const PREFIX = "apiserver_flowcontrol_";

export function addFlowMetrics(metrics: Metrics, flow: TurnTaking | undefined): void {
  if (flow?.levels === undefined) return;
  const levels = (): readonly LevelState[] => flow.levels!();
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
  gauge("current_executing_seats", "Seats in use.", ({ level }) => level?.taken ?? 0);
  gauge("current_executing_requests", "Requests that run.", ({ level }) => level?.running ?? 0);
  gauge("current_inqueue_requests", "Requests that wait.", ({ level }) => level?.waiting ?? 0);
  metrics.countersOf(
    {
      name: `${PREFIX}dispatched_requests_total`,
      help: "Requests that were let through.",
      labels: ["priority_level"],
    },
    () => levels().map(({ name, counts }) => ({ labels: [name], value: counts.dispatched })),
  );
  metrics.countersOf(
    {
      name: `${PREFIX}rejected_requests_total`,
      help: "Requests that were turned away, by reason.",
      labels: ["priority_level", "reason"],
    },
    () =>
      levels().flatMap(({ name, counts }) =>
        Object.entries(counts.rejected)
          .filter(([, value]) => value > 0)
          .map(([reason, value]) => ({ labels: [name, reason], value })),
      ),
  );
}
