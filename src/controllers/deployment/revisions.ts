/**
 * The revisions of a Deployment live in annotations of its ReplicaSets: the newest set has the
 * highest number, and a set that is rolled back to gets a new one and remembers its old ones.
 */
import type { Deployment, ReplicaSet } from "#api/generated/apps.v1.ts";
import { desiredReplicas, maxSurge } from "./strategy.ts";

export const REVISION = "deployment.kubernetes.io/revision";
const HISTORY = "deployment.kubernetes.io/revision-history";
const DESIRED = "deployment.kubernetes.io/desired-replicas";
const MAX = "deployment.kubernetes.io/max-replicas";
export const ROLLBACK_TO = "deprecated.deployment.rollback.to";
const HISTORY_LENGTH_MAX = 2_000;
const REVISION_MAX = 2n ** 63n - 1n;

type Annotations = Readonly<Record<string, string>>;

/** These stay with the object that has them. */
const OWN: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  REVISION,
  HISTORY,
  DESIRED,
  MAX,
  ROLLBACK_TO,
]);

/** Whole numbers of 64 bits: a set that is adopted may bring one that a double cannot hold. */
export function revisionOf({ metadata }: ReplicaSet | Deployment): bigint {
  const text = metadata.annotations?.[REVISION] ?? "0";
  const revision = /^\d+$/.test(text) ? BigInt(text) : 0n;
  return revision <= REVISION_MAX ? revision : 0n;
}

/** Orders sets by their revision, the oldest first. */
export function byRevision(a: ReplicaSet, b: ReplicaSet): number {
  const difference = revisionOf(a) - revisionOf(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** One more than any of them has. */
export function nextRevision(sets: readonly ReplicaSet[]): bigint {
  const newest = sets.toSorted(byRevision).at(-1);
  return newest === undefined ? 1n : revisionOf(newest) + 1n;
}

/** The second highest: what "the last revision" means to a rollback. */
export function lastRevision(sets: readonly ReplicaSet[]): bigint {
  const last = sets.toSorted(byRevision).at(-2);
  return last === undefined ? 0n : revisionOf(last);
}

/** Annotations of the set that runs the current template. */
export function newSetAnnotations(
  deployment: Deployment,
  set: ReplicaSet,
  revision: bigint,
): Annotations {
  const own = set.metadata.annotations ?? {};
  const copied = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([name]) => !OWN.has(name),
  );
  const old = own[REVISION];
  const annotations: Record<string, string> = { ...own, ...Object.fromEntries(copied) };
  if (revisionOf(set) >= revision) return annotations;
  annotations[REVISION] = String(revision);
  if (old !== undefined) annotations[HISTORY] = appendRevision(own[HISTORY] ?? "", old);
  return annotations;
}

/** The desired-replicas and max-replicas annotations, by which scaling is detected later. */
export function sizeAnnotations(deployment: Deployment): Annotations {
  const replicas = desiredReplicas(deployment);
  return { [DESIRED]: String(replicas), [MAX]: String(replicas + maxSurge(deployment)) };
}

export function annotatedDesired({ metadata }: ReplicaSet): number | undefined {
  return countOf(metadata.annotations?.[DESIRED]);
}

export function annotatedMax({ metadata }: ReplicaSet): number | undefined {
  return countOf(metadata.annotations?.[MAX]);
}

/** Annotations of a Deployment that is rolled back to a set: its own, and the set's. */
export function rolledBackAnnotations(deployment: Deployment, set: ReplicaSet): Annotations {
  const keep = Object.entries(deployment.metadata.annotations ?? {}).filter(([name]) =>
    OWN.has(name),
  );
  const copied = Object.entries(set.metadata.annotations ?? {}).filter(([name]) => !OWN.has(name));
  return Object.fromEntries([...keep, ...copied]);
}

function appendRevision(history: string, revision: string): string {
  const parts = history === "" ? [] : history.split(",");
  parts.push(revision);
  while (parts.join(",").length > HISTORY_LENGTH_MAX) parts.shift();
  return parts.join(",");
}

function countOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) && Number(text) < 2 ** 31
    ? Number(text)
    : undefined;
}
