/**
 * The write path. Every create, update, patch, apply and delete, of an object or of one of its
 * sub-resources, takes these steps in this order, and they can be read here from the top down:
 *
 *   1. decode                 options and body, in the version of the request    decode-write.ts
 *   2. defaults               of that version                                    the kind
 *   3. managed fields         the change made to the object that is there        desired-object.ts
 *   4. mutating admission     on the stored version                              admission/
 *   5. prepare                system fields, allocations, the kind's own rules   write-rules.ts
 *   6. validate               metadata and the kind                              write-rules.ts
 *   7. validating admission                                                      admission/
 *   8. store                  compare-and-swap, or as if on a dry run            store-object.ts
 *
 * Steps 1 and 2 run once (a patch is decoded in step 3, since it needs the object). Steps 3 to 8 run
 * again on the newer object when another writer was faster, and for a create whose generated name is
 * taken with another name; the body is then decoded again, because the steps change what they get. Deletes decode their options, ask admission and store a decision.
 */
import type { DeleteOptions, Status } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { failure, forbiddenStatus, type Result, success, unknownStatus } from "#api/meta/status.ts";
import { andThen, type MaybePromise } from "#lib/async/maybe-promise.ts";
import { tooLateStatus } from "../request/time-limit.ts";
import { groupResourceOf, hooksOf, notFound, type VerbRequest } from "../request/verb.ts";
import { fromStoredVersion, inStoredVersion, toStoredVersion } from "../storage/convert.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import { keyOf, type StoredResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";
import { admitOnly, placeOf, requestFor, viewRequest } from "./admit-write.ts";
import { decideDelete } from "./decide-delete.ts";
import { namespaceOf } from "./decode-write.ts";
import { checkDeletePreconditions } from "./delete-preconditions.ts";
import { desiredObject } from "./desired-object.ts";
import { sameButTimes } from "./managed-fields.ts";
import {
  dedupeOwners,
  fillSystemFields,
  generatedName,
  settleNamespace,
} from "./object-metadata.ts";
import type { ObjectWrite, SubresourceView } from "./object-write.ts";
import { ruleContextOf } from "./rule-context.ts";
import {
  carryOutDelete,
  type Deleted,
  nameTaken,
  type StoreStep,
  storeNew,
  storeNext,
  type Written,
} from "./store-object.ts";
import { checkVersion, uidMismatch } from "./update-preconditions.ts";
import type { Finish } from "./write-hooks.ts";
import { applyCreateRules, applyUpdateRules, finishObject } from "./write-rules.ts";

/** So many names are tried before a generated name counts as taken. */
const NAME_ATTEMPTS_MAX = 8;

/**
 * Creates, updates, patches and applies. Retries until the object is written or the write times out. A
 * write that lost a race waits for the key's lock, and so does one that comes while others wait, so
 * that a slow client is not starved.
 */
export function writeObject(verb: VerbRequest, write: ObjectWrite): Promise<Result<Written>> {
  return write.change.form === "create" ? createObject(verb, write) : changeObject(verb, write);
}

async function changeObject(verb: VerbRequest, write: ObjectWrite): Promise<Result<Written>> {
  if (verb.pace.isDue) await verb.pace.rest(); // the body was decoded
  const { objects, updateLocks, writeLimit, clock } = verb.parts;
  const { stored } = verb.resource;
  const key = keyOf(stored, verb.info.namespace, verb.info.name);
  const startMs = clock.elapsedMs();
  const attempt = async (
    read: Result<Revision | undefined>,
  ): Promise<Result<Written> | "overtaken"> => {
    const found = inStoredVersion(stored.kind, read);
    const current = found instanceof Promise ? await found : found;
    if (!current.ok) return current;
    const refusal = await checkWritten(verb, write, key, current.value);
    if (refusal !== undefined) return failure(refusal);
    const admitted = await admitObject(verb, write, current.value);
    if (!admitted.ok) return admitted;
    const step = await prepareAndStore(verb, write, admitted.value, current.value);
    if (!step.ok) return step;
    return step.value.outcome === "written" ? success(step.value) : "overtaken";
  };
  if (!updateLocks.isBusy(key)) {
    const cached = write.options.dryRun ? undefined : objects.peek(stored, key);
    const written =
      cached === undefined
        ? await attempt(await objects.read(stored, key))
        : await onCached(objects, stored, key, cached.revision, attempt);
    if (written !== "overtaken") return written;
  }
  while (clock.elapsedMs() - startMs < writeLimit.ms) {
    using _turn = await updateLocks.enter(key);
    const written = await attempt(await objects.read(stored, key));
    if (written !== "overtaken") return written;
  }
  return failure(tooLateStatus());
}

/**
 * A first attempt on what the cache has. A write that was stored was based on the current object: the
 * store compares. A refusal, and nothing to change, count only if the cache was current.
 */
async function onCached(
  objects: ObjectStore,
  stored: StoredResource,
  key: string,
  cached: Revision | undefined,
  attempt: (read: Result<Revision | undefined>) => Promise<Result<Written> | "overtaken">,
): Promise<Result<Written> | "overtaken"> {
  const first = await attempt(success(cached));
  if (first === "overtaken") return first;
  if (first.ok ? first.value.revision.number !== cached?.number : isStoreLost(first)) return first;
  const now = await objects.read(stored, key);
  if (!now.ok) return now;
  return now.value?.number === cached?.number ? first : await attempt(now);
}

/** Then the write may have been made: a second attempt would meet it and be refused as a conflict. */
function isStoreLost({ status }: { readonly status: Status }): boolean {
  return status.code === 503;
}

async function createObject(verb: VerbRequest, write: ObjectWrite): Promise<Result<Written>> {
  if (verb.pace.isDue) await verb.pace.rest(); // the body was decoded
  for (let attempt = 1; ; attempt++) {
    const admitted = await admitObject(verb, write, undefined);
    if (!admitted.ok) return admitted;
    if (verb.pace.isDue) await verb.pace.rest();
    const draft = admitted.value;
    const { generateName = "", name = "" } = draft.metadata;
    if (generateName !== "") {
      const { namesAreGiven } = verb.resource.stored.kind;
      const next = (): string => generatedName(generateName, verb.parts.random);
      draft.metadata.name = name || (namesAreGiven ? generateName : next());
    }
    const step = await prepareAndStore(verb, write, draft, undefined);
    if (!step.ok) return step;
    if (step.value.outcome === "written") return success(step.value);
    if (generateName !== "" && name === "" && attempt < NAME_ATTEMPTS_MAX) continue;
    return failure(nameTaken(verb, draft, step.value.current));
  }
}

/** Whether the write may be made to what is there: the object that is meant, or none. */
async function checkWritten(
  verb: VerbRequest,
  write: ObjectWrite,
  key: string,
  current: Revision | undefined,
): Promise<Status | undefined> {
  if (current === undefined) {
    if (!write.mayCreate) return notFound(verb, verb.info.name);
    const refusal = await verb.mayCreate();
    if (refusal !== undefined) return refusal;
  }
  const uid = current?.value.metadata.uid ?? "";
  if (write.uid === undefined || write.uid === uid) return undefined;
  return uidMismatch(verb, write, key, uid);
}

/** Managed fields and mutating admission: the object to be prepared, in the stored version. */
async function admitObject(
  verb: VerbRequest,
  write: ObjectWrite,
  current: Revision | undefined,
): Promise<Result<Draft<KubeObject>>> {
  const { kind } = verb.resource;
  const shown = current === undefined ? undefined : fromStoredVersion(kind, current.value);
  const there = shown instanceof Promise ? await shown : shown;
  if (there?.ok === false) return there;
  const desired = desiredObject(verb, write, there?.value);
  const wanted = desired instanceof Promise ? await desired : desired;
  if (!wanted.ok) return wanted;
  if (verb.pace.isDue) await verb.pace.rest();
  const admission =
    there !== undefined && write.view !== undefined
      ? admitView(verb, write, wanted.value, there.value, write.view)
      : admitWhole(verb, write, wanted.value, current?.value);
  const admitted = admission instanceof Promise ? await admission : admission;
  if (admitted.ok) dedupeOwners(admitted.value.metadata, verb.warn, true);
  return admitted;
}

function admitWhole(
  verb: VerbRequest,
  write: ObjectWrite,
  wanted: Draft<KubeObject>,
  old: KubeObject | undefined,
): MaybePromise<Result<Draft<KubeObject>>> {
  return andThen(toStoredVersion(verb.resource.kind, wanted), (next) => {
    if (!next.ok) return next;
    const placed = settleNamespace(next.value.metadata, namespaceOf(verb));
    if (!placed.ok) return placed;
    return verb.parts.admission.admit(requestFor(verb, write, next.value, old));
  });
}

/** Admission sees the view; then the object gets what the view says. */
async function admitView(
  verb: VerbRequest,
  write: ObjectWrite,
  wanted: Draft<KubeObject>,
  before: KubeObject,
  view: SubresourceView,
): Promise<Result<Draft<KubeObject>>> {
  const request = requestFor(verb, write, wanted, view.of(before));
  const admitted = await verb.parts.admission.admit(request);
  if (!admitted.ok) return admitted;
  return await toStoredVersion(verb.resource.kind, view.into(before, admitted.value));
}

/** From the admitted object to the stored one. What was allocated for it is kept or given back. */
async function prepareAndStore(
  verb: VerbRequest,
  write: ObjectWrite,
  draft: Draft<KubeObject>,
  current: Revision | undefined,
): Promise<StoreStep> {
  const preparing =
    current === undefined
      ? prepareNew(verb, write, draft)
      : prepareNext(verb, write, draft, current);
  const prepared = preparing instanceof Promise ? await preparing : preparing;
  if (!prepared.ok) return prepared;
  if (verb.pace.isDue) await verb.pace.rest();
  const step = await validateAndStore(verb, write, draft, current);
  if (prepared.value !== undefined) {
    await prepared.value(step.ok && step.value.outcome === "written");
  }
  return step;
}

function prepareNew(
  verb: VerbRequest,
  { change, options }: ObjectWrite,
  draft: Draft<KubeObject>,
): MaybePromise<Result<Finish | undefined>> {
  const { clock, random } = verb.parts;
  if (verb.resource.kind.custom?.isTerminating() === true) {
    const why = "create not allowed while custom resource definition is terminating";
    return failure(forbiddenStatus(groupResourceOf(verb.resource), draft.metadata.name ?? "", why));
  }
  if (change.form !== "create") delete draft.metadata.resourceVersion;
  fillSystemFields(draft.metadata, clock.nowMs(), random);
  const hooks = hooksOf(verb);
  return hooks === undefined ? success(undefined) : hooks.beginCreate(draft, options.dryRun);
}

function prepareNext(
  verb: VerbRequest,
  { subresource, options }: ObjectWrite,
  draft: Draft<KubeObject>,
  current: Revision,
): MaybePromise<Result<Finish | undefined>> {
  const version = checkVersion(verb, draft, current);
  if (!version.ok) return version;
  const hooks = subresource === undefined ? hooksOf(verb) : undefined;
  if (hooks === undefined) return success(undefined);
  return hooks.beginUpdate(draft, current.value, options.dryRun);
}

async function validateAndStore(
  verb: VerbRequest,
  write: ObjectWrite,
  draft: Draft<KubeObject>,
  current: Revision | undefined,
): Promise<StoreStep> {
  const { kind, stored } = verb.resource;
  const { subresource, options } = write;
  const context = ruleContextOf(verb);
  const old = current?.value;
  const ruling =
    old === undefined
      ? applyCreateRules(stored.kind, kind, draft, context, verb)
      : applyUpdateRules(stored.kind, kind, subresource, draft, old, context, verb);
  const ruled = ruling instanceof Promise ? await ruling : ruling;
  if (!ruled.ok) return ruled;
  if (verb.pace.isDue) await verb.pace.rest();

  const asked =
    old !== undefined && write.view !== undefined
      ? await viewRequest(verb, write, draft, old, write.view)
      : success(requestFor(verb, write, draft, old));
  if (!asked.ok) return asked;
  const validation = verb.parts.admission.validate(asked.value);
  const refusal = validation instanceof Promise ? await validation : validation;
  if (refusal !== undefined) return failure(refusal);

  if (current === undefined && !options.dryRun && (draft.metadata.resourceVersion ?? "") !== "") {
    return failure(unknownStatus("resourceVersion should not be set on objects to be created"));
  }
  if (verb.pace.isDue) await verb.pace.rest();
  const finished = finishObject(stored.kind, draft, old);
  if (!finished.ok) return finished;
  if (verb.pace.isDue) await verb.pace.rest();
  if (current === undefined) return await storeNew(verb, finished.value, draft, options.dryRun);
  const object = sameButTimes(finished.value, current.value);
  return await storeNext(verb, current, object, options.dryRun);
}

/** Deletes, of one object or of one in a collection. */
export async function deleteObject(
  verb: VerbRequest,
  namespace: string,
  name: string,
  options: DeleteOptions,
): Promise<Result<Deleted>> {
  const { parts, resource } = verb;
  const { stored } = resource;
  const dryRun = (options.dryRun ?? []).length > 0;
  const key = keyOf(stored, namespace, name);
  const cached = dryRun ? undefined : parts.objects.peek(stored, key);
  if (cached?.revision !== undefined) {
    const deleted = await deleteFound(verb, name, cached.revision, options, dryRun);
    if (deleted.ok || isStoreLost(deleted)) return deleted;
    const now = await parts.objects.read(stored, key);
    if (!now.ok) return now;
    // What was refused may have been refused because the cache was outdated.
    if (now.value?.number === cached.revision.number) return deleted;
    return await deleteFound(verb, name, now.value, options, dryRun);
  }
  const read = await parts.objects.read(stored, key);
  return read.ok ? await deleteFound(verb, name, read.value, options, dryRun) : read;
}

async function deleteFound(
  verb: VerbRequest,
  name: string,
  start: Revision | undefined,
  options: DeleteOptions,
  dryRun: boolean,
): Promise<Result<Deleted>> {
  const { parts, resource } = verb;
  const { stored } = resource;
  const found = await inStoredVersion(stored.kind, success(start));
  if (!found.ok) return found;
  let current = found.value;
  for (;;) {
    if (current === undefined) return failure(notFound(verb, name));
    const conflict = checkDeletePreconditions(resource, current, options);
    if (conflict !== undefined) return failure(conflict);
    const refusal = await admitDelete(verb, current, options, dryRun);
    if (refusal !== undefined) return failure(refusal);
    const nowMs = parts.clock.nowMs();
    const decision = decideDelete(current.value, options, stored.kind.deletion ?? {}, nowMs);
    const step = await carryOutDelete(verb, current, decision, dryRun);
    if (!step.ok) return step;
    if (step.value.outcome === "done") return success(step.value);
    current = step.value.current;
  }
}

async function admitDelete(
  verb: VerbRequest,
  { value: old }: Revision,
  options: DeleteOptions,
  dryRun: boolean,
): Promise<Status | undefined> {
  if (verb.info.subresource !== "") return undefined; // an eviction was admitted as such
  const admitted = await admitOnly(verb, {
    operation: "DELETE",
    object: undefined,
    old,
    options: { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1", ...options },
    dryRun,
    // Those of a collection are not named, as upstream.
    place: { ...placeOf(verb, old), name: verb.info.name },
  });
  return admitted.ok ? undefined : admitted.status;
}
