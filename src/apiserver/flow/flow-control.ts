/**
 * Fairness between users: requests are sorted into flows by FlowSchemas and share the server by
 * PriorityLevelConfigurations.
 *
 * Promises:
 * 1. One user who asks too much makes only their own requests wait; health checks, the system's
 *    masters and leader elections go on.
 * 2. Nothing waits longer than a quarter of its time, and no queue is longer than its limit: the rest is refused
 *    with 429 and asked to come back.
 * 3. Watches hold a seat until their initial events are sent, streams hold none; the number of both is
 *    limited.
 */
import { isDeepStrictEqual } from "node:util";
import type { FlowSchema, PriorityLevelConfiguration } from "#api/generated/flowcontrol.v1.ts";
import { flowSchemaKind } from "#api/kinds/flowcontrol/v1/flow-schema.ts";
import { priorityLevelConfigurationKind } from "#api/kinds/flowcontrol/v1/priority-level-configuration.ts";
import type { Clock } from "#lib/time/clock.ts";
import { flowSchemas, priorityLevels } from "../bootstrap/flow-objects.ts";
import type { RequestInfo, User } from "../request/request.ts";
import type { Objects } from "../storage/objects.ts";
import {
  type Admitted,
  type ConcurrencyLimiter,
  type FlowDecision,
  isLongRunning,
  type LevelState,
  type ObserveFlow,
} from "./concurrency-limiter.ts";
import { byPrecedence, matchesFlow } from "./match-flow.ts";
import {
  type Entrance,
  type LevelCounts,
  noCounts,
  PriorityLevel,
  type Rejection,
  type Requester,
  type Seat,
  SeatPool,
} from "./priority-level.ts";
import { estimateWork, type ResourceStats, watchersOf } from "./work-estimate.ts";

export interface FlowControlOptions {
  /** Requests that run at once, reads and writes together. */
  readonly seats: number;
  /** Requests that live long at once. */
  readonly longRunningMax: number;
  /** Longer than that no request waits; 15 seconds unless given. */
  readonly waitMsMax?: number;
  readonly clock: Pick<Clock, "schedule" | "elapsedMs">;
}

const REFUSED: FlowDecision = { outcome: "refused", retryAfterSeconds: 1 };
const SHAPES_MAX = 256;
const WATCH_SEAT_MS_MAX = 15_000;
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
  readonly uids: NonNullable<Admitted["flow"]>;
  readonly entrance: Entrance;
}

/** Where the configuration is stored, and what is known of what requests ask for. */
type FlowSource = Pick<Objects, "list" | "onChange" | "statsOf">;

export class FlowControl implements ConcurrencyLimiter {
  readonly #options: FlowControlOptions;
  #schemas: readonly FlowSchema[] = [];
  #levels = new Map<string, KnownLevel>();
  #flows = new WeakMap<User, Map<string, Flow>>();
  /** By level and flow schema; they outlive their configurations. */
  readonly #counts = new Map<string, Map<string, LevelCounts>>();
  #statsOf: (group: string, resource: string) => ResourceStats | undefined = () => undefined;
  #observe: ObserveFlow | undefined;
  #longRunning = 0;

  constructor(options: FlowControlOptions) {
    this.#options = options;
    this.#configure(flowSchemas(), priorityLevels());
  }

  /** Follows what is stored until aborted; before that the built-in objects count. */
  start(objects: FlowSource, signal: AbortSignal): void {
    const read = (next?: WithSpec, old?: WithSpec): void => {
      if (next !== undefined && isDeepStrictEqual(next.spec, old?.spec)) return;
      const schemas = [...objects.list(flowSchemaKind)];
      const levels = [...objects.list(priorityLevelConfigurationKind)];
      if (schemas.length > 0 && levels.length > 0) this.#configure(schemas, levels);
    };
    this.#statsOf = (group, resource) => objects.statsOf?.(group, resource);
    objects.onChange(flowSchemaKind, read, signal);
    objects.onChange(priorityLevelConfigurationKind, read, signal);
    read();
  }

  admit(user: User, info: RequestInfo, asker: Requester): FlowDecision | Promise<FlowDecision> {
    const flow = this.#flowOf(user, info);
    const { schema, level, uids, entrance } = flow;
    if (level === undefined) {
      entrance.counts.dispatched += 1;
      entrance.counts.metrics?.run.observe(0);
      entrance.counts.metrics?.seats.observe(1);
      this.#countWatchers(info, entrance);
      const executed = entrance.counts.metrics?.executed(info.verb);
      return { outcome: "admitted", seat: NO_SEAT, flow: uids, executed };
    }
    const place = isLongRunning(info) ? this.#takePlace() : undefined;
    if (place === "none") return REFUSED;
    const admitted = (seat: Seat): Admitted => ({
      outcome: "admitted",
      seat,
      flow: uids,
      executed: entrance.counts.metrics?.executed(info.verb),
      ...(place === undefined ? {} : { place }),
    });
    if (place !== undefined && info.verb !== "watch") return admitted(NO_SEAT);
    const decide = (seat: Seat | Rejection): FlowDecision => {
      if (typeof seat !== "string") return admitted(place ? this.#forAWhile(seat) : seat);
      place?.release();
      return REFUSED;
    };
    const work = estimateWork(info, asker.query, this.#statsOf, level.widthMax);
    entrance.counts.metrics?.seats.observe(work.seats);
    this.#countWatchers(info, entrance);
    const seat = level.enter(flowName(schema, user, info), entrance, asker, work);
    return seat instanceof Promise ? seat.then(decide) : decide(seat);
  }

  observe(of: ObserveFlow): void {
    this.#observe = of;
    for (const [level, flows] of this.#counts) {
      for (const [schema, counts] of flows) counts.metrics = of(schema, level);
    }
  }

  /** Every level as it is now, in order of name. */
  levels(): readonly LevelState[] {
    const states = [...this.#levels].map(([name, { level }]) => ({
      name,
      level,
      flows: this.#counts.get(name) ?? new Map(),
    }));
    return states.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** A client that does not take what a watch begins with must not hold its seat for ever. */
  #forAWhile(seat: Seat): Seat {
    let held = true;
    const release = (): void => {
      if (held) seat.release();
      held = false;
      timer.cancel();
    };
    const timer = this.#options.clock.schedule(WATCH_SEAT_MS_MAX, release);
    return { release };
  }

  #countWatchers(info: RequestInfo, { counts }: Entrance): void {
    const watchers = watchersOf(info, this.#statsOf);
    if (watchers !== undefined) counts.metrics?.watchers.observe(watchers);
  }

  #takePlace(): Seat | "none" {
    if (this.#longRunning >= this.#options.longRunningMax) return "none";
    this.#longRunning += 1;
    return {
      release: () => {
        this.#longRunning -= 1;
      },
    };
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
    const own = this.#levels.has(name) ? name : "catch-all";
    const { level, uid = "" } = this.#levels.get(own) ?? {};
    const counts = this.#countsOf(own, schema.metadata.name ?? "");
    return {
      schema,
      level,
      uids: { schemaUid: schema.metadata.uid ?? "", levelUid: uid },
      entrance: level?.entrance(counts) ?? { counts, single: NO_SEAT },
    };
  }

  #countsOf(level: string, schema: string): LevelCounts {
    const ofLevel = this.#counts.get(level) ?? new Map<string, LevelCounts>();
    this.#counts.set(level, ofLevel);
    const known = ofLevel.get(schema);
    if (known !== undefined) return known;
    const counts = noCounts();
    const metrics = this.#observe?.(schema, level);
    if (metrics !== undefined) counts.metrics = metrics;
    ofLevel.set(schema, counts);
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
        return [metadata.name!, { uid, level: new PriorityLevel(options, pool, clock) }];
      }),
    );
    this.#flows = new WeakMap();
  }
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
