/** The contract of priority and fairness (`flow-control.ts`) and of the plain limit (`max-in-flight.ts`). */
import type { Histogram } from "#lib/metrics.ts";
import type { RequestInfo, User } from "../request/request.ts";
import type { LevelCounts, PriorityLevel, Requester, Seat } from "./priority-level.ts";

export interface Admitted {
  readonly outcome: "admitted";
  /** Held while the request executes. */
  readonly seat: Seat;
  /** Held by a long-running request until it ends. */
  readonly place?: Seat;
  /** Observes the execution time. */
  readonly executed?: Histogram | undefined;
  /** The FlowSchema and PriorityLevelConfiguration, for the response headers. */
  readonly flow?: { readonly schemaUid: string; readonly levelUid: string };
}

export type FlowDecision =
  | Admitted
  | { readonly outcome: "refused"; readonly retryAfterSeconds: number };

/** Decides when a request may execute. */
export interface ConcurrencyLimiter {
  /** The priority levels, if there are any. */
  levels?(): readonly LevelState[];
  /** Sets the metrics of each flow schema at each priority level. */
  observe?(of: ObserveFlow): void;
  admit(user: User, info: RequestInfo, asker: Requester): FlowDecision | Promise<FlowDecision>;
}

export type ObserveFlow = (schema: string, level: string) => NonNullable<LevelCounts["metrics"]>;

export interface LevelState {
  readonly name: string;
  /** Undefined: exempt. */
  readonly level: PriorityLevel | undefined;
  /** By flow schema. */
  readonly flows: ReadonlyMap<string, LevelCounts>;
}

/** Requests whose response lasts as long as the client likes. */
export function isLongRunning({
  isResource,
  verb,
  subresource,
}: Pick<RequestInfo, "isResource" | "verb" | "subresource">): boolean {
  if (!isResource) return false;
  return (
    verb === "watch" ||
    verb === "proxy" ||
    ["attach", "exec", "log", "portforward", "proxy"].includes(subresource)
  );
}
