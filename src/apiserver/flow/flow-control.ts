/**
 * Fairness between users: requests are sorted into flows by FlowSchemas and share the server by
 * PriorityLevelConfigurations.
 *
 * Promises:
 * 1. One user who asks too much makes only their own requests wait; health checks, the system's
 *    masters and leader elections go on.
 * 2. Nothing waits longer than a quarter of its time, and no queue is longer than its limit: the rest is refused
 *    with 429 and asked to come back.
 * 3. Requests that live long (watches, streams) hold no seat; there is a number of them at most.
 */
import { isDeepStrictEqual } from "node:util";
import { flowSchemaKind } from "#api/flowcontrol/v1/flow-schema.ts";
import { priorityLevelConfigurationKind } from "#api/flowcontrol/v1/priority-level-configuration.ts";
import type { FlowSchema, PriorityLevelConfiguration } from "#api/generated/flowcontrol.v1.ts";
import type { Clock } from "#lib/clock.ts";
import { flowSchemas, priorityLevels } from "../bootstrap/flow-objects.ts";
import type { Objects } from "../objects.ts";
import type { RequestInfo, User } from "../request.ts";
import { byPrecedence, matchesFlow } from "./match-flow.ts";
import {
  type Asker,
  type LevelCounts,
  noCounts,
  PriorityLevel,
  type Seat,
  SeatPool,
} from "./priority-level.ts";
import { seatsFor } from "./work-estimate.ts";

export interface FlowControlOptions {
  /** Requests that run at once, reads and writes together. */
  readonly seats: number;
  /** Requests that live long at once. */
  readonly longRunningMax: number;
  /** Longer than that no request waits; 15 seconds unless given. */
  readonly waitMsMax?: number;
  readonly clock: Pick<Clock, "schedule">;
}

export interface Admitted {
  readonly outcome: "admitted";
  readonly seat: Seat;
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
  admit(user: User, info: RequestInfo, asker: Asker): FlowDecision | Promise<FlowDecision>;
}

const REFUSED: FlowDecision = { outcome: "refused", retryAfterSeconds: 1 };
const SHAPES_MAX = 256;
const NO_SEAT: Seat = { release: () => undefined };

interface KnownLevel {
  readonly uid: string;
  /** Undefined: exempt. */
  readonly level: PriorityLevel | undefined;
}

/** What is known of one kind of request of one user. */
interface Flow {
  readonly schema: FlowSchema;
  /** Undefined: exempt. */
  readonly level: PriorityLevel | undefined;
  readonly levelUid: string;
  readonly counts: LevelCounts;
}

export interface LevelState {
  readonly name: string;
  /** Undefined: exempt. */
  readonly level: PriorityLevel | undefined;
  readonly counts: LevelCounts;
}

export class FlowControl implements TurnTaking {
  readonly #options: FlowControlOptions;
  #schemas: readonly FlowSchema[] = [];
  #levels = new Map<string, KnownLevel>();
  #flows = new WeakMap<User, Map<string, Flow>>();
  /** By level; they outlive its configurations. */
  readonly #counts = new Map<string, LevelCounts>();
  #countOf: (group: string, resource: string) => number = () => 0;
  #longRunning = 0;

  constructor(options: FlowControlOptions) {
    this.#options = options;
    this.#configure(flowSchemas(), priorityLevels());
  }

  /** Follows what is stored until aborted; before that the built-in objects count. */
  start(objects: Objects, signal: AbortSignal): void {
    const read = (next?: WithSpec, old?: WithSpec): void => {
      if (next !== undefined && isDeepStrictEqual(next.spec, old?.spec)) return;
      const schemas = [...objects.list(flowSchemaKind)];
      const levels = [...objects.list(priorityLevelConfigurationKind)];
      if (schemas.length > 0 && levels.length > 0) this.#configure(schemas, levels);
    };
    this.#countOf = (group, resource) => objects.countOf?.(group, resource) ?? 0;
    objects.onChange(flowSchemaKind, read, signal);
    objects.onChange(priorityLevelConfigurationKind, read, signal);
    read();
  }

  admit(user: User, info: RequestInfo, asker: Asker): FlowDecision | Promise<FlowDecision> {
    const { schema, level, levelUid, counts } = this.#flowOf(user, info);
    const admitted = (seat: Seat): Admitted => ({
      outcome: "admitted",
      seat,
      flow: { schemaUid: schema.metadata.uid ?? "", levelUid },
    });
    if (level === undefined) {
      counts.dispatched += 1;
      return admitted(NO_SEAT);
    }
    if (isLongRunning(info)) return this.#admitLongRunning(admitted);
    const wide = seatsFor(info, asker.query, this.#countOf);
    const seat = level.enter(flowName(schema, user, info), asker, wide);
    if (seat instanceof Promise) {
      return seat.then((one) => (typeof one === "string" ? REFUSED : admitted(one)));
    }
    return typeof seat === "string" ? REFUSED : admitted(seat);
  }

  /** Every level as it is now, in order of name. */
  levels(): readonly LevelState[] {
    const states = [...this.#levels].map(([name, { level }]) => ({
      name,
      level,
      counts: this.#counts.get(name) ?? noCounts(),
    }));
    return states.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  #admitLongRunning(admitted: (seat: Seat) => Admitted): FlowDecision {
    if (this.#longRunning >= this.#options.longRunningMax) return REFUSED;
    this.#longRunning += 1;
    return admitted({
      release: () => {
        this.#longRunning -= 1;
      },
    });
  }

  #flowOf(user: User, info: RequestInfo): Flow {
    const { isResource, verb, group, resource, subresource, namespace, path } = info;
    const shape = isResource
      ? `${verb} ${group} ${resource} ${subresource} ${namespace}`
      : `${verb} ${path}`;
    let flows = this.#flows.get(user);
    if (flows === undefined || flows.size >= SHAPES_MAX) {
      flows = new Map();
      this.#flows.set(user, flows);
    }
    let flow = flows.get(shape);
    if (flow === undefined) {
      flow = this.#classify(user, info);
      flows.set(shape, flow);
    }
    return flow;
  }

  /** The catch-all matches everyone; should it not, its level counts all the same. */
  #classify(user: User, info: RequestInfo): Flow {
    const schema =
      this.#schemas.find(
        (one) =>
          this.#levels.has(one.spec.priorityLevelConfiguration.name) &&
          matchesFlow(one, user, info),
      ) ?? this.#schemas.at(-1)!;
    const name = schema.spec.priorityLevelConfiguration.name;
    const found = this.#levels.get(name) ?? this.#levels.get("catch-all");
    return {
      schema,
      level: found?.level,
      levelUid: found?.uid ?? "",
      counts: this.#countsOf(this.#levels.has(name) ? name : "catch-all"),
    };
  }

  #countsOf(level: string): LevelCounts {
    const counts = this.#counts.get(level) ?? noCounts();
    this.#counts.set(level, counts);
    return counts;
  }

  /** New levels start empty; who holds a seat of an old one gives it back there. */
  #configure(schemas: readonly FlowSchema[], levels: readonly PriorityLevelConfiguration[]): void {
    const pool = new SeatPool();
    const shares = levels.reduce((sum, { spec }) => sum + sharesOf(spec), 0);
    const { seats, clock, waitMsMax } = this.#options;
    this.#schemas = [...schemas].sort(byPrecedence);
    this.#levels = new Map(
      levels.map(({ metadata, spec }): [string, KnownLevel] => {
        const uid = metadata.uid ?? "";
        if (spec.type === "Exempt") return [metadata.name!, { uid, level: undefined }];
        const own = Math.ceil((seats * sharesOf(spec)) / shares);
        const { lendablePercent = 0, borrowingLimitPercent, limitResponse } = spec.limited!;
        const queuing = limitResponse?.type === "Queue" ? limitResponse.queuing : undefined;
        const options = {
          name: metadata.name!,
          seats: own,
          lendable: Math.round((own * lendablePercent) / 100),
          ...(borrowingLimitPercent == null
            ? {}
            : { borrowable: Math.round((own * borrowingLimitPercent) / 100) }),
          ...(queuing === undefined ? {} : { queuing: withDefaults(queuing) }),
          ...(waitMsMax === undefined ? {} : { waitMsMax }),
        };
        const level = new PriorityLevel(options, pool, clock, this.#countsOf(metadata.name!));
        return [metadata.name!, { uid, level }];
      }),
    );
    this.#flows = new WeakMap();
  }
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

function flowName({ spec, metadata }: FlowSchema, user: User, { namespace }: RequestInfo): string {
  switch (spec.distinguisherMethod?.type) {
    case "ByUser":
      return `${metadata.name}/${user.name}`;
    case "ByNamespace":
      return `${metadata.name}/${namespace}`;
    default:
      return metadata.name ?? "";
  }
}

function sharesOf({ type, limited, exempt }: PriorityLevelConfiguration["spec"]): number {
  if (type === "Exempt") return exempt?.nominalConcurrencyShares ?? 0;
  return limited?.nominalConcurrencyShares ?? 30;
}

interface WithSpec {
  readonly spec: object;
}

type Queuing = NonNullable<
  NonNullable<
    NonNullable<PriorityLevelConfiguration["spec"]["limited"]>["limitResponse"]
  >["queuing"]
>;

function withDefaults({ queues = 64, handSize = 8, queueLengthLimit = 50 }: Queuing) {
  return { queues, handSize, queueLengthLimit };
}
