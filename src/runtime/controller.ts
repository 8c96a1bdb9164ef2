/**
 * The contract of a controller: a record of feeds, observe and decide.
 *
 * - `feeds` name the kinds whose changes matter and say which keys a change concerns. Only kinds
 *   that are fed can be read from the caches.
 * - `observe` gathers what the decision needs, from informer caches only. It may be async for reads
 *   beyond the caches (metrics, a cloud, a signer).
 * - `decide` is pure: the same state at the same instant gives the same outcome, which is data. What it
 *   wants to know next time (when it saw something first) it asks to `remember`.
 *
 * The runtime does the rest: informers, the rate-limited queue, carrying the writes out in order,
 * waiting until the caches show them, conflicts, back-off, events, metrics and the record.
 *
 * Promises to a controller:
 * 1. One key is never worked on twice at the same time.
 * 2. `observe` sees all writes that earlier reconciles of the same key made.
 * 3. A key whose writes failed is tried again, later each time; one that succeeded starts afresh.
 * 4. Level-triggered: changes between two reconciles are merged; no change is lost.
 */
import type { ObjectReference } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import type { Change, ReadCache } from "#client/cache.ts";
import type { Client, Key as ObjectKey, Typed } from "#client/client.ts";
import type { ResourceRef } from "#client/transport.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { ResourceSet } from "./resource-set.ts";
import type { Write } from "./writes.ts";

export type { Change } from "#client/cache.ts";

/** What a controller works on: the name of an object, of whichever kind it means by it. */
export interface Key extends ObjectKey {
  /** For controllers that work on many kinds: which one. */
  readonly resource?: string;
}

export type Caches = <T extends KubeObject>(kind: Typed<T>) => ReadCache<T>;

/** Reads beyond the caches: kinds without an informer, reviews, non-resource paths. */
export type Reader = Pick<Client, "get" | "list" | "watch" | "ask" | "raw">;

/** A resource as listed by discovery. */
export interface Resource extends ResourceRef {
  readonly verbs: readonly string[];
  /** All that its group is served in, as far as that is known: others may name it by any. */
  readonly groupVersions?: readonly string[];
}

export interface Feed<T extends KubeObject = KubeObject> {
  readonly kind: Typed<T>;
  /** Called with the old and the new state of a changed object; the keys of both are queued. */
  keys(object: T, caches: Caches): readonly Key[];
  /** Called instead of `keys` when an object changes, if the keys depend on what changed. */
  keysOfChange?(change: Change<T>, caches: Caches): readonly Key[];
  /** Delay after a change until its keys are queued, so that several changes are handled together. */
  readonly delayMs?: number;
}

export interface IndexSpec<T extends KubeObject = KubeObject> {
  readonly kind: Typed<T>;
  readonly name: string;
  values(object: T): readonly string[];
}

/**
 * While the objects of a resource that came are being loaded, no key is worked on: decisions need all
 * dependents of an object, or all that a quota counts.
 */
export interface DiscoveredFeeds {
  readonly resources: ResourceSet;
  /** Undefined for a resource that does not matter. */
  feed(resource: Resource): Feed | undefined;
  indexes?(resource: Resource): readonly IndexSpec[];
}

export interface EventNote {
  readonly about: KubeObject | ObjectReference;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** `Memory`: what the controller may want to know next time; nothing unless it says so. */
export interface Outcome<Memory = never> {
  /** Carried out in order. A nested list is a batch: its writes go out together, slowly at first. */
  readonly writes?: readonly (Write | readonly Write[])[];
  readonly events?: readonly EventNote[];
  /** Look again after this long even if nothing changes. */
  readonly recheckInMs?: number;
  /**
   * Handed to the next `observe` of the same key, until another takes its place; undefined forgets.
   * It is lost when the process ends, and when `observe` finds nothing (undefined).
   */
  readonly remember?: Memory | undefined;
  /**
   * One sentence for the decision record: the rule that fired. The controller's rule unless given. An
   * outcome with a rule is recorded even if it has neither writes nor events.
   */
  readonly because?: string;
}

export interface RefusedWrite {
  readonly write: Write;
  readonly status: Status;
}

export type RefusalOutcome = Pick<Outcome, "writes" | "events">;

/** The result of a reconcile, for metrics. */
export interface Reconciled<State> {
  readonly key: Key;
  readonly state: State;
  readonly outcome: Omit<Outcome, "remember">;
  readonly refused: RefusedWrite | undefined;
  /** How many writes were carried out. */
  readonly done: number;
  readonly nowMs: number;
  readonly seconds: number;
}

/** Registers the controller's metrics. Returns an observer that is called after every reconcile. */
export type Measure<State> = (
  metrics: Metrics,
  caches: Caches,
) => (reconciled: Reconciled<State>) => void;

/** When an observation is made, and until when it may go on: for reads beyond the caches. */
export interface Moment {
  readonly nowMs: number;
  /** Monotonic, to measure how long a read takes. */
  elapsedMs(): number;
  /** To bound how long a read is waited for. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
  readonly signal: AbortSignal;
}

export interface Controller<State, Memory = never> {
  /** As `--controllers` knows it. */
  readonly name: string;
  /** What it sees to, in one sentence: why it writes, where a decision gives no reason of its own. */
  readonly rule?: string;
  /** As Events name their source; the name unless given. */
  readonly component?: string;
  readonly feeds: readonly Feed[];
  readonly indexes?: readonly IndexSpec[];
  /** Feeds of resources that come and go, beside those that are always there. */
  readonly discovered?: DiscoveredFeeds;
  /** Keys worked on at the same time; 5 unless given. */
  readonly workers?: number;
  /** Resync interval: every object is queued again, changed or not. */
  readonly resyncMs?: number;
  observe(
    caches: Caches,
    key: Key,
    reader: Reader,
    remembered: Memory | undefined,
    moment: Moment,
  ): State | Promise<State>;
  decide(state: State, nowMs: number): Outcome<Memory>;
  /**
   * What to do about a write of `decide` that the server refused, before the key is tried again. Pure:
   * it is given the same state and the same instant.
   */
  decideRefused?(state: State, refused: RefusedWrite, nowMs: number): RefusalOutcome;
  readonly measure?: Measure<State>;
}

/** A controller whose state type is forgotten, so that controllers can stand in one table. */
export type AnyController = Controller<never, unknown> | Controller<unknown, unknown>;

// biome-ignore lint/suspicious/noExplicitAny: feeds of one controller are about different kinds
type AnyFeed = Feed<any>;
// biome-ignore lint/suspicious/noExplicitAny: as above
type AnyIndex = IndexSpec<any>;

export function defineController<State, Memory = never>(
  spec: Omit<Controller<State, Memory>, "feeds" | "indexes"> & {
    readonly feeds: readonly AnyFeed[];
    readonly indexes?: readonly AnyIndex[];
  },
): Controller<State, Memory> {
  return spec;
}

/** Nothing to do until something changes. */
export const idle: Outcome = {};

export function recheckIn(delayMs: number): Outcome {
  return { recheckInMs: delayMs };
}

/** Names the rule that led to an outcome. One without writes and events gets none: it is not recorded. */
export function because<Memory>(rule: string, outcome: Outcome<Memory>): Outcome<Memory> {
  const { writes = [], events = [] } = outcome;
  return writes.length + events.length === 0 ? outcome : { ...outcome, because: rule };
}

/** A kind that `observe` reads but whose changes concern no key by themselves. */
export function readOnly<T extends KubeObject>(kind: Typed<T>): Feed<T> {
  return { kind, keys: () => [] };
}

/** The key of the object itself. */
export function ownKey({ metadata }: KubeObject): readonly Key[] {
  return [{ namespace: metadata.namespace, name: metadata.name ?? "" }];
}

/** The key of the object's controlling owner, if that is of the given kind. */
export function controllerKey(kind: Typed<KubeObject>): (object: KubeObject) => readonly Key[] {
  return ({ metadata }) =>
    (metadata.ownerReferences ?? []).flatMap((owner) =>
      owner.controller && owner.kind === kind.names.kind && groupOf(owner.apiVersion) === kind.group
        ? [{ namespace: metadata.namespace, name: owner.name }]
        : [],
    );
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}
