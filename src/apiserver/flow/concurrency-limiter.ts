/** What it means that requests take turns, whoever decides on them. */
import type { Histogram } from "#lib/metrics.ts";
import type { RequestInfo, User } from "../request/request.ts";
import type { Asker, LevelCounts, PriorityLevel, Seat } from "./priority-level.ts";

export interface Admitted {
  readonly outcome: "admitted";
  /** Held while it is worked on. */
  readonly seat: Seat;
  /** Held by what lives long until it ends. */
  readonly place?: Seat;
  /** Told how long it was worked on. */
  readonly executed?: Histogram | undefined;
  /** Of what decided, for the answer's headers. */
  readonly flow?: { readonly schemaUid: string; readonly levelUid: string };
}

export type FlowDecision =
  | Admitted
  | { readonly outcome: "refused"; readonly retryAfterSeconds: number };

/** Says when a request may be worked on. */
export interface TurnTaking {
  /** Of the forms that have levels. */
  levels?(): readonly LevelState[];
  /** Who is told of each request of a flow schema at a level. */
  observe?(of: ObserveFlow): void;
  admit(user: User, info: RequestInfo, asker: Asker): FlowDecision | Promise<FlowDecision>;
}

export type ObserveFlow = (schema: string, level: string) => NonNullable<LevelCounts["told"]>;

export interface LevelState {
  readonly name: string;
  /** Undefined: exempt. */
  readonly level: PriorityLevel | undefined;
  /** By flow schema. */
  readonly flows: ReadonlyMap<string, LevelCounts>;
}

/** Requests that answer for as long as the client likes. */
export function isLongRunning({ isResource, verb, subresource }: RequestInfo): boolean {
  if (!isResource) return false;
  return (
    verb === "watch" ||
    verb === "proxy" ||
    ["attach", "exec", "log", "portforward", "proxy"].includes(subresource)
  );
}
