/**
 * Deletes what has lost its owners, holds owners back until their dependents are gone (foreground),
 * and cuts dependents loose (orphan). It looks at every kind that can be deleted.
 *
 * An owner is
 * - solid, if it exists and is not waiting for its dependents to go;
 * - waiting, if it is being deleted in the foreground;
 * - absent, if there is no object with its uid where its reference says;
 * - impossible, if it is in a namespace and what it is said to own is not.
 */
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import type { KubeObject } from "#api/kind.ts";

import {
  type Caches,
  type Change,
  type Controller,
  defineController,
  type EventNote,
  type Feed,
  idle,
  type Key,
  type Outcome,
  type Reader,
  type Resource,
} from "#runtime/controller.ts";
import type { ResourceSet } from "#runtime/resource-set.ts";
import { deleteUnchanged, patch, remove, type Write } from "#runtime/writes.ts";

const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";
const BY_OWNER = "owner";
const WORKERS = 20;
/** As upstream's cache of absent owners. */
const ABSENT_OWNERS_MAX = 500;

export interface OwnerView {
  readonly reference: OwnerReference;
  readonly state: "solid" | "waiting" | "absent" | "impossible";
  /** The uid is that of an object in a namespace other than this one, which can own nothing here. */
  readonly isElsewhere?: boolean;
}

export interface GarbageState {
  readonly resource: Resource;
  readonly object: KubeObject;
  readonly owners: readonly OwnerView[];
  /** None are looked for while all owners are solid and the object stays: then they do not matter. */
  readonly dependents: readonly { readonly resource: Resource; readonly object: KubeObject }[];
}

/** It follows the resources: those that come later are watched too, those that went are forgotten. */
export function garbageCollector(
  resources: ResourceSet,
  workers = WORKERS,
): Controller<GarbageState | undefined> {
  const all = collectable(resources);
  const absent = new Set<string>();
  return defineController<GarbageState | undefined>({
    name: "garbage-collector-controller",
    rule: "an object goes when none of its owners is there; what a foreground deletion waits for goes first",
    workers,
    feeds: [],
    discovered: {
      resources,
      feed: (resource) => (isCollectable(resource) ? feedOf(resource, all) : undefined),
      indexes: (kind) => [{ kind, name: BY_OWNER, values: ownerUids }],
    },
    observe: (caches, key, reader) => observe(caches, key, reader, all(), absent),
    decide: (state) => (state === undefined ? idle : decide(state)),
  });
}

/** Asked for with every change of every object, so it is remembered until the resources change. */
function collectable(resources: ResourceSet): () => readonly Resource[] {
  let known = resources.all();
  let chosen = known.filter(isCollectable);
  return () => {
    if (known === resources.all()) return chosen;
    known = resources.all();
    chosen = known.filter(isCollectable);
    return chosen;
  };
}

/** Events are many, own nothing and expire by themselves. */
function isCollectable({ group, names, verbs }: Resource): boolean {
  if (names.plural === "events" && (group === "" || group === "events.k8s.io")) return false;
  return verbs.includes("delete") && verbs.includes("list") && verbs.includes("watch");
}

function ownerUids({ metadata }: KubeObject): readonly string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid);
}

function feedOf(resource: Resource, all: () => readonly Resource[]): Feed {
  const isWatched = (caches: Caches) => (other: Resource) => indexed(caches, other) !== undefined;
  const ownKeys = (object: KubeObject, caches: Caches): readonly Key[] =>
    concerns(object) && !isHeld(object, caches, all()) ? [keyFor(resource, object)] : [];
  return {
    kind: resource,
    keys: (object, caches) => ownKeys(object, caches),
    keysOfChange: ({ next, old }: Change<KubeObject>, caches) => {
      const dependentKeys = (owner: KubeObject): readonly Key[] =>
        dependentsOf(owner, caches, all().filter(isWatched(caches))).map((d) =>
          keyFor(d.resource, d.object),
        );
      if (next === undefined) return [...dependentKeys(old!), ...ownersToWake(old!, caches, all())];
      if (old !== undefined && !isRelevant(next, old)) return [];
      // The watch was broken: the old one was deleted meanwhile, and another has its name.
      const isReplaced = old !== undefined && old.metadata.uid !== next.metadata.uid;
      return [
        ...ownKeys(next, caches),
        ...(isReplaced ? dependentKeys(old) : []),
        ...(isDeletingDependents(next) ? dependentKeys(next) : []),
        ...(old === undefined ? [] : ownersToWake(old, caches, all())),
      ];
    },
  };
}

/** Only owners, finalizers and deletion matter here; most changes touch none of them. */
function isRelevant({ metadata: next }: KubeObject, { metadata: old }: KubeObject): boolean {
  return (
    next.uid !== old.uid ||
    next.deletionTimestamp !== old.deletionTimestamp ||
    !isEqual(next.ownerReferences, old.ownerReferences) ||
    !isEqual(next.finalizers, old.finalizers)
  );
}

/** Objects of the same server share equal parts mostly. */
function isEqual(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function concerns({ metadata }: KubeObject): boolean {
  return (metadata.ownerReferences ?? []).length > 0 || metadata.deletionTimestamp !== undefined;
}

/**
 * The caches know all of its owners as solid: nothing is to be done. It need not be queued, as it is when
 * one of the owners changes in what matters here: the index by owner has it already.
 */
function isHeld(object: KubeObject, caches: Caches, all: readonly Resource[]): boolean {
  const { deletionTimestamp, ownerReferences = [] } = object.metadata;
  if (deletionTimestamp !== undefined) return false;
  return ownerReferences.every((reference) => {
    const resource = resourceFor(reference, all);
    return resource !== undefined && cachedState(reference, resource, object, caches) === "solid";
  });
}

/** Undefined if the caches do not have the owner where it should be. */
function cachedState(
  { uid, name }: OwnerReference,
  resource: Resource,
  { metadata: { namespace } }: KubeObject,
  caches: Caches,
): "solid" | "waiting" | undefined {
  const cached = indexed(caches, resource)?.byUid(uid);
  if (cached === undefined || cached.metadata.name !== name) return undefined;
  const where = resource.scope === "Namespaced" ? namespace : undefined;
  const isThere = cached.metadata.namespace === where;
  return isThere ? stateOf(cached) : undefined;
}

/** Owners in foreground deletion, queued when a dependent is deleted or drops its reference. */
function ownersToWake(
  object: KubeObject,
  caches: Caches,
  all: readonly Resource[],
): readonly Key[] {
  return (object.metadata.ownerReferences ?? []).flatMap((reference) => {
    const resource = resourceFor(reference, all);
    const owner =
      resource === undefined ? undefined : indexed(caches, resource)?.byUid(reference.uid);
    return owner?.metadata.deletionTimestamp === undefined ? [] : [keyFor(resource!, owner)];
  });
}

async function observe(
  caches: Caches,
  key: Key,
  reader: Reader,
  all: readonly Resource[],
  absent: Set<string>,
): Promise<GarbageState | undefined> {
  const resource = all.find((other) => idOf(other) === key.resource);
  const object = resource === undefined ? undefined : caches(resource).get(key.namespace, key.name);
  if (resource === undefined || object === undefined) return undefined;
  const references = object.metadata.ownerReferences ?? [];
  const owners = await Promise.all(
    references.map((r) => viewOf(r, object, caches, reader, all, absent)),
  );
  const stays = object.metadata.deletionTimestamp === undefined;
  if (stays && owners.every(({ state }) => state === "solid")) {
    return { resource, object, owners, dependents: [] };
  }
  const watched = all.filter((other) => indexed(caches, other) !== undefined);
  return { resource, object, owners, dependents: dependentsOf(object, caches, watched) };
}

async function viewOf(
  reference: OwnerReference,
  object: KubeObject,
  caches: Caches,
  reader: Reader,
  all: readonly Resource[],
  absent: Set<string>,
): Promise<OwnerView> {
  const resource = resourceFor(reference, all);
  if (resource === undefined)
    throw new Error(`no resource is known for owner ${reference.apiVersion} ${reference.kind}`);
  const { namespace } = object.metadata;
  const where = resource.scope === "Namespaced" ? namespace : undefined;
  const cached = indexed(caches, resource)?.byUid(reference.uid);
  const isElsewhere = cached !== undefined && cached.metadata.namespace !== where;
  const elsewhere = isElsewhere ? { isElsewhere } : {};
  if (resource.scope === "Namespaced" && namespace === undefined)
    return { reference, state: "impossible", ...elsewhere };
  const known = cachedState(reference, resource, object, caches);
  if (known !== undefined) return { reference, state: known };
  // The server gives every uid once: an owner that it does not have will not come any more, so one
  // question is enough for all its dependents.
  const id = JSON.stringify([idOf(resource), where, reference.name, reference.uid]);
  if (absent.has(id)) return { reference, state: "absent", ...elsewhere };
  // The cache may be behind: absent is what the server says, not what the cache does not know.
  const live = await reader.get(resource, { namespace: where, name: reference.name });
  if (!live.ok && live.status.code !== 404)
    throw new Error(live.status.message ?? "cannot look the owner up");
  if (live.ok && live.value.metadata.uid === reference.uid)
    return { reference, state: stateOf(live.value) };
  if (absent.size >= ABSENT_OWNERS_MAX) absent.delete(absent.values().next().value!);
  absent.add(id);
  return { reference, state: "absent", ...elsewhere };
}

function stateOf(owner: KubeObject): "solid" | "waiting" {
  return isDeletingDependents(owner) ? "waiting" : "solid";
}

function isDeletingDependents({ metadata }: KubeObject): boolean {
  return (
    metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(FOREGROUND)
  );
}

export function decide(state: GarbageState): Outcome {
  const { resource, object, dependents } = state;
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined) {
    if (finalizers.includes(ORPHAN)) return orphanDependents(state);
    if (!finalizers.includes(FOREGROUND)) return idle;
    const blocking = dependents.filter(
      (d) => ownerReferenceTo(d.object, object)?.blockOwnerDeletion === true,
    );
    if (blocking.length === 0) {
      return {
        writes: [withoutFinalizer(resource, object, FOREGROUND)],
        because: "no dependent holds it back",
      };
    }
    // Each of them is judged by all of its owners: one that has another may only let this one go.
    return { writes: [], because: "dependents hold it back" };
  }
  const events = state.owners.flatMap((owner) =>
    owner.isElsewhere === true ? [invalidOwner(state, owner.reference)] : [],
  );
  return events.length === 0 ? judgeOwners(state) : { ...judgeOwners(state), events };
}

function invalidOwner(
  { object }: GarbageState,
  { apiVersion, kind, name, uid }: OwnerReference,
): EventNote {
  const { namespace = "" } = object.metadata;
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  const message = `ownerRef ${owner} does not exist in namespace "${namespace}"`;
  return { about: object, type: "Warning", reason: "OwnerRefInvalidNamespace", message };
}

function judgeOwners({ resource, object, owners, dependents }: GarbageState): Outcome {
  // An invalid owner reference: the object is kept.
  if (owners.some(({ state }) => state === "impossible")) return idle;
  const solid = owners.filter(({ state }) => state === "solid");
  const lost = owners.filter(({ state }) => state !== "solid");
  if (lost.length === 0) return idle;
  if (solid.length > 0) {
    const uids = new Set(lost.map(({ reference }) => reference.uid));
    return {
      writes: [withoutOwners(resource, object, uids)],
      because: "some owners are gone, others are not",
    };
  }
  const waiting = owners.some(({ state }) => state === "waiting");
  if (waiting && dependents.length > 0) {
    // Two objects that wait for each other would wait for ever: the inner one stops blocking.
    const inCircle = dependents.some((d) => isDeletingDependents(d.object));
    const options = { propagation: "Foreground" } as const;
    return {
      writes: inCircle
        ? [unblocked(resource, object), remove(resource, object, options)]
        : [deleteUnchanged(resource, object, options)],
      because: "an owner waits for its dependents to go",
    };
  }
  return {
    // It may have been given another owner meanwhile.
    writes: [deleteUnchanged(resource, object, { propagation: policyOf(object) })],
    because: "all owners are gone",
  };
}

function orphanDependents({ resource, object, dependents }: GarbageState): Outcome {
  const uids = new Set([object.metadata.uid ?? ""]);
  return {
    writes: [
      dependents.map((d) => withoutOwners(d.resource, d.object, uids)),
      withoutFinalizer(resource, object, ORPHAN),
    ],
    because: "its dependents are to stay",
  };
}

/** What the object's own finalizers ask for. */
function policyOf({ metadata }: KubeObject): "Orphan" | "Foreground" | "Background" {
  const { finalizers = [] } = metadata;
  if (finalizers.includes(ORPHAN)) return "Orphan";
  return finalizers.includes(FOREGROUND) ? "Foreground" : "Background";
}

function withoutFinalizer(resource: Resource, object: KubeObject, finalizer: string): Write {
  const finalizers = (object.metadata.finalizers ?? []).filter((other) => other !== finalizer);
  const { resourceVersion } = object.metadata;
  return patch(resource, object, "merge", { metadata: { finalizers, resourceVersion } });
}

function withoutOwners(resource: Resource, object: KubeObject, uids: ReadonlySet<string>): Write {
  const left = (object.metadata.ownerReferences ?? []).filter(({ uid }) => !uids.has(uid));
  const { resourceVersion } = object.metadata;
  return patch(resource, object, "merge", {
    metadata: { ownerReferences: left.length === 0 ? null : left, resourceVersion },
  });
}

function unblocked(resource: Resource, object: KubeObject): Write {
  const ownerReferences = (object.metadata.ownerReferences ?? []).map((reference) => ({
    ...reference,
    blockOwnerDeletion: false,
  }));
  return patch(resource, object, "merge", { metadata: { ownerReferences } });
}

function ownerReferenceTo({ metadata }: KubeObject, owner: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ uid }) => uid === owner.metadata.uid);
}

function dependentsOf(
  owner: KubeObject,
  caches: Caches,
  watched: readonly Resource[],
): GarbageState["dependents"] {
  const uid = owner.metadata.uid ?? "";
  return watched.flatMap((resource) =>
    [...caches(resource).byIndex(BY_OWNER, uid)].map((object) => ({ resource, object })),
  );
}

/** The cache of a kind that some collector watches. */
function indexed(caches: Caches, resource: Resource): ReturnType<Caches> | undefined {
  const cache = caches(resource);
  return cache.hasIndex(BY_OWNER) ? (cache as ReturnType<Caches>) : undefined;
}

/** Owners are named by kind; the version may be any that is served, not just the one watched. */
function resourceFor(
  { apiVersion, kind }: OwnerReference,
  all: readonly Resource[],
): Resource | undefined {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  return all.find(
    (resource) =>
      resource.group === group &&
      resource.names.kind === kind &&
      (resource.groupVersions?.includes(apiVersion) ?? true),
  );
}

function keyFor(resource: Resource, { metadata }: KubeObject): Key {
  return { resource: idOf(resource), namespace: metadata.namespace, name: metadata.name ?? "" };
}

function idOf({ apiVersion, names }: Resource): string {
  return `${apiVersion}/${names.plural}`;
}
