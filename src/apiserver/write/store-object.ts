/** The last step of the write path: what was decided reaches the store, or on a dry run does not. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import {
  alreadyExistsStatus,
  generateNameConflictStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import { groupResourceOf, hooksOf, type ServerParts, type VerbRequest } from "../request/verb.ts";
import { keyOf, type StoredResource } from "../storage/resources.ts";
import { Revision } from "../storage/revision.ts";
import type { DeleteDecision } from "./decide-delete.ts";
import { broughtVersion } from "./object-metadata.ts";
import { finishObject } from "./write-rules.ts";

export interface Written {
  readonly revision: Revision;
  readonly created: boolean;
}

/** Another writer was faster; `current` is what it left. */
interface Conflict {
  readonly outcome: "conflict";
  readonly current: Revision | undefined;
}

export type StoreStep = Result<({ readonly outcome: "written" } & Written) | Conflict>;

/** `object` is the finished form of `draft`. */
export function storeNew(
  { parts, resource, info }: VerbRequest,
  object: KubeObject,
  draft: Draft<KubeObject>,
  dryRun: boolean,
): Promise<StoreStep> {
  const { stored } = resource;
  const { name = info.name, namespace = "" } = object.metadata;
  const key = keyOf(stored, namespace, name);
  if (dryRun) return createDry(parts, stored, key, object, broughtVersion(draft));
  return parts.objects.create(stored, key, object).then((wrote) => {
    if (!wrote.ok) return wrote;
    if (wrote.value.outcome === "conflict") return success(wrote.value);
    return success({ ...wrote.value, created: true });
  });
}

/** As if the object had been stored. */
async function createDry(
  { objects }: ServerParts,
  stored: StoredResource,
  key: string,
  object: KubeObject,
  version: number,
): Promise<StoreStep> {
  const there = await objects.read(stored, key);
  if (!there.ok) return there;
  if (there.value !== undefined) return success({ outcome: "conflict", current: there.value });
  const revision = Revision.fromValue(stored.kind, key, version, object);
  return success({ outcome: "written", revision, created: true });
}

/** An update that takes away the last finalizer of a deleted object removes it. */
export async function storeNext(
  verb: VerbRequest,
  current: Revision,
  object: KubeObject,
  dryRun: boolean,
): Promise<StoreStep> {
  const { objects } = verb.parts;
  const { stored } = verb.resource;
  const { key, number } = current;
  const unnumbered = (): StoreStep => {
    const revision = Revision.fromValue(stored.kind, key, number, object);
    return success({ outcome: "written", revision, created: false });
  };
  if (dryRun) return unnumbered();
  if (isGone(object, current.value)) {
    const removed = await objects.remove(stored, key, current);
    if (!removed.ok) return removed;
    if (removed.value.outcome === "conflict") return success(removed.value);
    await hooksOf(verb)?.afterDelete(object);
    return unnumbered();
  }
  const wrote = await objects.replace(stored, key, current, object);
  if (!wrote.ok) return wrote;
  if (wrote.value.outcome === "conflict") return success(wrote.value);
  return success({ ...wrote.value, created: false });
}

export interface Deleted {
  /** Its last state, or its state now if it is still there. */
  readonly revision: Revision;
  readonly gone: boolean;
}

type DeleteStep = Result<({ readonly outcome: "done" } & Deleted) | Conflict>;

export async function carryOutDelete(
  verb: VerbRequest,
  current: Revision,
  decision: DeleteDecision,
  dryRun: boolean,
): Promise<DeleteStep> {
  const { objects } = verb.parts;
  const { stored } = verb.resource;
  const done = (revision: Revision, gone: boolean): DeleteStep =>
    success({ outcome: "done", revision, gone });
  if (decision.action === "pending") return done(current, false);
  let last = current;
  if (decision.action !== "remove") {
    const finished = finishObject(stored.kind, decision.object);
    if (!finished.ok) return finished;
    if (dryRun) {
      const { key, number } = current;
      const revision = Revision.fromValue(stored.kind, key, number, finished.value);
      return done(revision, decision.action === "mark-and-remove");
    }
    const wrote = await objects.replace(stored, current.key, current, finished.value);
    if (!wrote.ok) return wrote;
    if (wrote.value.outcome === "conflict") return success(wrote.value);
    last = wrote.value.revision;
    if (decision.action === "mark") return done(last, false);
  }
  if (dryRun) return done(last, true);
  const removed = await objects.remove(stored, current.key, last);
  if (!removed.ok) return removed;
  if (removed.value.outcome === "written") {
    await hooksOf(verb)?.afterDelete(last.value);
    return done(removed.value.revision, true);
  }
  // Marked by this request, removed by another one: it is gone, which is what was asked for.
  if (removed.value.current === undefined && last !== current) return done(last, true);
  return success(removed.value);
}

/** A create found an object of its name. */
export function nameTaken(
  { resource }: VerbRequest,
  { metadata: { name = "", generateName = "" } }: KubeObject,
  current: Revision | undefined,
): Status {
  const subject = groupResourceOf(resource);
  if (generateName !== "") return generateNameConflictStatus(subject, name, 1);
  const status = alreadyExistsStatus(subject, name);
  if (current?.value.metadata.deletionTimestamp === undefined) return status;
  return { ...status, message: `object is being deleted: ${status.message}` };
}

function isGone(next: KubeObject, old: KubeObject): boolean {
  if ((next.metadata.finalizers ?? []).length > 0) return false;
  if (old.metadata.deletionTimestamp === undefined) return false;
  if ((old as { spec?: { finalizers?: unknown[] } }).spec?.finalizers?.length) {
    const { kind, apiVersion } = old;
    if (kind === "Namespace" && apiVersion === "v1") return namespaceIsFinal(next);
  }
  return (old.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

/** A namespace also has finalizers in its spec. */
function namespaceIsFinal(next: KubeObject): boolean {
  const { spec } = next as { spec?: { finalizers?: unknown[] } };
  return (spec?.finalizers ?? []).length === 0;
}
