/**
 * The decisions of the controllers, for `k8ts why`: which controller, on which object revisions, by
 * which rule, with which writes and outcome. The last 2,000 are kept.
 *
 * A record is plain data of bounded size: texts and numbers, no objects of the caches and no functions,
 * so that what was decided on can be collected: 2,000 of them take about 3 MB.
 */
import type { KubeObject } from "#api/kind.ts";
import { Ring } from "#lib/collections/ring.ts";
import type { Key, Outcome, RefusedWrite } from "./controller.ts";
import type { Write } from "./writes.ts";

export interface DecisionRecord {
  readonly atMs: number;
  readonly controller: string;
  readonly key: Key;
  /** The rule: what the decision said, or else what the controller sees to. */
  readonly because: string | undefined;
  /** The objects that the decision was made on, the first of them. */
  readonly observed: readonly ObservedRevision[];
  /** The first of the intended writes, in order. */
  readonly writes: readonly WriteRecord[];
  /** How many writes were intended, and how many were carried out. */
  readonly intended: number;
  readonly done: number;
  /** Reasons of the events about it. */
  readonly events: readonly string[];
  readonly refused: { readonly write: WriteRecord; readonly why: string } | undefined;
  /** Set when observing or deciding itself failed. */
  readonly error: string | undefined;
}

export interface ObservedRevision {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

export interface WriteRecord {
  readonly op: Write["op"];
  /** `deployments/status` for a sub-resource. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

const CAPACITY = 2_000;
const OBSERVED_MAX = 6;
const WRITES_MAX = 4;
const EVENTS_MAX = 4;
const TEXT_MAX = 500;
/** How far below the state objects are looked for, and among how many values. */
const DEPTH_MAX = 3;
const VISITS_MAX = 100;

export class DecisionLog {
  readonly #records = new Ring<DecisionRecord>(CAPACITY);

  add(record: DecisionRecord): void {
    this.#records.push(record);
  }

  /** Newest last. */
  about(filter: Partial<Pick<DecisionRecord, "controller">> & Partial<Key> = {}): DecisionRecord[] {
    return [...this.#records].filter(
      ({ controller, key }) =>
        (filter.controller === undefined || filter.controller === controller) &&
        (filter.namespace === undefined || filter.namespace === key.namespace) &&
        (filter.name === undefined || filter.name === key.name),
    );
  }
}

export interface Decided {
  readonly atMs: number;
  readonly controller: string;
  /** The controller's. */
  readonly rule?: string | undefined;
  readonly key: Key;
  readonly state: unknown;
  readonly outcome: Outcome<unknown>;
  readonly done: number;
  readonly refused: RefusedWrite | undefined;
  readonly error?: unknown;
}

export function recordOf(decided: Decided): DecisionRecord {
  const { atMs, controller, key, state, outcome, done, refused, error } = decided;
  const writes = (outcome.writes ?? []).flat();
  const { status } = refused ?? {};
  const because = outcome.because ?? decided.rule;
  return {
    atMs,
    controller,
    key,
    because: because === undefined ? undefined : cut(because),
    observed: observedIn(state),
    writes: writes.slice(0, WRITES_MAX).map(writeRecord),
    intended: writes.length,
    done,
    events: (outcome.events ?? []).slice(0, EVENTS_MAX).map(({ reason }) => reason),
    refused:
      refused === undefined
        ? undefined
        : { write: writeRecord(refused.write), why: cut(`${status?.reason}: ${status?.message}`) },
    error: error === undefined ? undefined : cut(String(error)),
  };
}

function writeRecord(write: Write): WriteRecord {
  const { op, kind } = write;
  const subresource = "subresource" in write && write.subresource ? `/${write.subresource}` : "";
  const resource = kind.names.plural + subresource;
  if (op === "deleteAll") return { op, resource, namespace: write.namespace, name: "" };
  const target = "target" in write ? write.target : write.object.metadata;
  return { op, resource, namespace: target.namespace ?? "", name: target.name ?? "" };
}

/** Breadth first, so that the object that a key names comes before those that belong to it. */
function observedIn(state: unknown): readonly ObservedRevision[] {
  const observed: ObservedRevision[] = [];
  let level: unknown[] = [state];
  let visits = 0;
  for (let depth = 0; depth <= DEPTH_MAX && level.length > 0; depth++) {
    const next: unknown[] = [];
    for (const value of level) {
      visits += 1;
      if (observed.length === OBSERVED_MAX || visits > VISITS_MAX) return observed;
      if (isObject(value)) observed.push(revisionOf(value));
      else next.push(...membersOf(value));
    }
    level = next;
  }
  return observed;
}

function isObject(value: unknown): value is KubeObject {
  const { metadata } = (value ?? {}) as Partial<KubeObject>;
  return typeof metadata === "object" && metadata?.resourceVersion !== undefined;
}

function revisionOf({ kind, metadata }: KubeObject): ObservedRevision {
  const { namespace = "", name = "", resourceVersion = "" } = metadata;
  return { kind: kind ?? "", namespace, name, resourceVersion };
}

function membersOf(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.slice(0, OBSERVED_MAX);
  if (value instanceof Map || value instanceof Set) {
    const members: unknown[] = [];
    for (const member of value.values()) {
      if (members.length === OBSERVED_MAX) break;
      members.push(member);
    }
    return members;
  }
  return Object.values(value).slice(0, VISITS_MAX);
}

/** A copy of its own, because a part of a string holds on to all of it. */
function cut(text: string): string {
  return text.length <= TEXT_MAX ? text : Buffer.from(`${text.slice(0, TEXT_MAX)}…`).toString();
}
