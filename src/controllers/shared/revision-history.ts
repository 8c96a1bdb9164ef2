/**
 * The templates that a StatefulSet or DaemonSet has had, kept as ControllerRevisions: numbered, named
 * by a hash of what they hold, and pruned to a limit.
 */

import type { ControllerRevision } from "#api/generated/apps.v1.ts";
import type { KindOf, KubeObject } from "#api/kind.ts";
import { controllerRevisionKind } from "#api/kinds/apps/v1/controller-revision.ts";
import { matchesLabels, type Selector } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import type { Caches, IndexSpec } from "#runtime/controller.ts";
import { create, remove, update, type Write } from "#runtime/writes.ts";
import { type Claims, claim, controllerOf, controllerReference } from "./ownership.ts";
import { shortHash } from "./short-hash.ts";

const REVISION_HASH = "controller.kubernetes.io/hash";
const NAME_PREFIX_MAX = 223;

export const orphanRevisions: IndexSpec<ControllerRevision> = {
  kind: controllerRevisionKind,
  name: "orphans",
  values: (revision) =>
    controllerOf(revision) === undefined ? [revision.metadata.namespace ?? ""] : [],
};

/** The revisions that the object controls, and orphans. */
export function candidateRevisions(
  caches: Caches,
  { metadata }: KubeObject,
): readonly ControllerRevision[] {
  const revisions = caches(controllerRevisionKind);
  return [
    ...revisions.controlledBy(metadata.uid ?? ""),
    ...revisions.byIndex(orphanRevisions.name, metadata.namespace ?? ""),
  ];
}

/** A set that takes the place of another of the same name goes on with its history. */
export function claimRevisions<T extends KubeObject>(
  owner: { readonly kind: KindOf<T>; readonly object: T },
  candidates: readonly ControllerRevision[],
  selector: Selector,
): Claims<ControllerRevision> {
  return claim(owner, controllerRevisionKind, candidates, ({ metadata }) =>
    matchesLabels(selector, metadata.labels),
  );
}

export interface History {
  /** Oldest first. */
  readonly revisions: readonly ControllerRevision[];
  /** The revision of the current template; it may still have to be written. */
  readonly latest: ControllerRevision;
  readonly writes: readonly Write[];
}

/**
 * What a revision holds: a patch that brings the template back. Others (kubectl, a manager that takes
 * over) compare it byte by byte with one that has its keys in order.
 */
export function revisionData({ spec }: { readonly spec: { readonly template: object } }): unknown {
  return { spec: { template: inOrder({ ...spec.template, $patch: "replace" }) } };
}

/** Finds the revision that holds `data`, or makes the next one. */
export function trackRevision<T extends KubeObject>(
  owner: { readonly kind: KindOf<T>; readonly object: T },
  existing: readonly ControllerRevision[],
  data: unknown,
  labels: Readonly<Record<string, string>>,
  collisionCount: number,
  hashLabel: string = REVISION_HASH,
): History {
  const revisions = [...existing].sort(byNumber);
  const newest = revisions.at(-1);
  const next = (newest?.revision ?? 0) + 1;
  const equal = revisions.findLast((revision) => semanticEqual(revision.data, data));
  if (equal !== undefined && equal === newest) return { revisions, latest: equal, writes: [] };
  if (equal !== undefined) {
    // Going back to an old template: its revision becomes the newest again.
    const latest = { ...equal, revision: next };
    const rest = revisions.filter((revision) => revision !== equal);
    return {
      revisions: [...rest, latest],
      latest,
      writes: [update(controllerRevisionKind, latest)],
    };
  }
  const latest = newRevision(owner, next, data, labels, collisionCount, hashLabel);
  return {
    revisions: [...revisions, latest],
    latest,
    writes: [create(controllerRevisionKind, latest)],
  };
}

/** Deletes unused revisions beyond the limit, the oldest first. */
export function pruneHistory(
  revisions: readonly ControllerRevision[],
  limit: number,
  inUse: ReadonlySet<string>,
): readonly Write[] {
  const unused = revisions.filter(
    ({ metadata }) => metadata.uid !== undefined && !inUse.has(metadata.name ?? ""),
  );
  return unused
    .slice(0, Math.max(0, unused.length - limit))
    .map((r) => remove(controllerRevisionKind, r));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, inOrder(inner)]));
}

function newRevision<T extends KubeObject>(
  { kind, object }: { readonly kind: KindOf<T>; readonly object: T },
  revision: number,
  data: unknown,
  labels: Readonly<Record<string, string>>,
  collisionCount: number,
  hashLabel: string,
): ControllerRevision {
  const hash = shortHash(JSON.stringify(data) + String(collisionCount));
  const { namespace, name = "", annotations } = object.metadata;
  return {
    apiVersion: controllerRevisionKind.apiVersion,
    kind: "ControllerRevision",
    metadata: {
      name: `${name.slice(0, NAME_PREFIX_MAX)}-${hash}`,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, [hashLabel]: hash },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [controllerReference(kind, object)],
    },
    data,
    revision,
  };
}

function byNumber(a: ControllerRevision, b: ControllerRevision): number {
  if (a.revision !== b.revision) return a.revision - b.revision;
  const [at, bt] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (at !== bt) return at < bt ? -1 : 1;
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
}
