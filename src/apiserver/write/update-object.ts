import type { Draft, KubeObject, SubresourceSpec } from "#api/kind.ts";
import { failure, type Result, success } from "#api/meta/status.ts";
import { type AdmissionRequest, admissionRequest } from "../admission/admission-request.ts";
import type { WriteOptions } from "../request/query-options.ts";
import { tooLateStatus } from "../request/time-limit.ts";
import { hooksOf, type VerbRequest } from "../request/verb.ts";
import { keyOf } from "../storage/resources.ts";
import { Revision } from "../storage/revision.ts";
import { notFound } from "../verbs/get.ts";
import { sameButTimes } from "./managed-fields.ts";
import { dedupeOwners, fillSystemFields, settleNamespace } from "./object-metadata.ts";
import { ruleContextOf } from "./rule-context.ts";
import { checkVersion, uidMismatch } from "./update-preconditions.ts";
import {
  applyCreateRules,
  applyUpdateRules,
  finishObject,
  fromStoredVersion,
  toStoredVersion,
} from "./write-rules.ts";

export interface UpdatePlan {
  readonly options: WriteOptions;
  /** Refuse to touch another object than the one with this uid. */
  readonly uid: string | undefined;
  /** An object that is not there is created. */
  readonly mayCreate: boolean;
  readonly subresource: SubresourceSpec<KubeObject> | undefined;
  /**
   * The wanted object in the request's version, given the one that is there (none: it will be
   * created). Asked again after each conflict. The result belongs to the caller.
   */
  next(
    current: KubeObject | undefined,
  ): Result<Draft<KubeObject>> | Promise<Result<Draft<KubeObject>>>;
}

export interface Updated {
  readonly revision: Revision;
  readonly created: boolean;
}

/**
 * Tries until it is written, or until the client has heard that it took too long. Who was overtaken
 * gets in line, and so does who comes while there is a line: so that each attempt but the first
 * succeeds, and a client that is slower than others has its turn, too.
 */
export async function updateObject(verb: VerbRequest, plan: UpdatePlan): Promise<Result<Updated>> {
  const { objects, updateLines, writeLimit, clock } = verb.parts;
  const { stored } = verb.resource;
  const key = keyOf(stored, verb.info.namespace, verb.info.name);
  const startMs = clock.elapsedMs();
  const attempt = async (): Promise<Result<Updated> | "overtaken"> => {
    const found = await objects.read(stored, key);
    if (!found.ok) return found;
    const step =
      found.value === undefined
        ? await createMissing(verb, plan, key)
        : await updateCurrent(verb, plan, found.value);
    if (!step.ok) return step;
    return step.value.outcome === "written" ? success(step.value) : "overtaken";
  };
  if (!updateLines.isBusy(key)) {
    const updated = await attempt();
    if (updated !== "overtaken") return updated;
  }
  while (clock.elapsedMs() - startMs < writeLimit.ms) {
    using _turn = await updateLines.enter(key);
    const updated = await attempt();
    if (updated !== "overtaken") return updated;
  }
  return failure(tooLateStatus());
}

type Step = Result<
  | ({ readonly outcome: "written" } & Updated)
  | { readonly outcome: "conflict"; readonly current: Revision | undefined }
>;

async function createMissing(verb: VerbRequest, plan: UpdatePlan, key: string): Promise<Step> {
  const { parts, resource } = verb;
  if (!plan.mayCreate) return notFound(verb);
  const allowed = await verb.mayCreate();
  if (allowed !== undefined) return failure(allowed);
  if (plan.uid !== undefined) return failure(uidMismatch(verb, plan, key, ""));
  const next = await plan.next(undefined);
  if (!next.ok) return next;
  const object = toStoredVersion(resource.kind, next.value);
  const placed = placeIn(verb, object);
  if (!placed.ok) return placed;
  const { raw: options, dryRun } = plan.options;
  const request = admissionRequest(verb, { operation: "CREATE", object, options, dryRun });
  const admitted = await parts.admission.admit(request);
  if (!admitted.ok) return admitted;
  const draft = admitted.value;
  dedupeOwners(draft.metadata, verb.warn, true);

  delete draft.metadata.resourceVersion;
  fillSystemFields(draft.metadata, parts.clock.nowMs(), parts.random);
  const begun = await hooksOf(verb)?.beginCreate(draft, plan.options.dryRun);
  if (begun?.ok === false) return begun;
  const step = await createRuled(verb, plan, key, draft, request);
  await begun?.value(step.ok && step.value.outcome === "written");
  return step;
}

async function createRuled(
  verb: VerbRequest,
  plan: UpdatePlan,
  key: string,
  draft: Draft<KubeObject>,
  request: AdmissionRequest,
): Promise<Step> {
  const { parts, resource, info } = verb;
  const { stored } = resource;
  const ruled = applyCreateRules(stored.kind, resource.kind, draft, ruleContextOf(verb), verb.warn);
  if (!ruled.ok) return ruled;
  const refused = await parts.admission.validate({ ...request, object: draft });
  if (refused !== undefined) return failure(refused);
  const finished = finishObject(stored.kind, draft);
  if (!finished.ok) return finished;
  if (plan.options.dryRun) {
    const revision = Revision.fromValue(stored.kind, key, 0, finished.value);
    return success({ outcome: "written", revision, created: true });
  }
  const { name = info.name, namespace = "" } = finished.value.metadata;
  const wrote = await parts.objects.create(stored, keyOf(stored, namespace, name), finished.value);
  if (!wrote.ok) return wrote;
  return success(
    wrote.value.outcome === "conflict" ? wrote.value : { ...wrote.value, created: true },
  );
}

async function updateCurrent(
  verb: VerbRequest,
  plan: UpdatePlan,
  current: Revision,
): Promise<Step> {
  const { parts, resource } = verb;
  const old = current.value;
  if (plan.uid !== undefined && plan.uid !== old.metadata.uid) {
    return failure(uidMismatch(verb, plan, current.key, old.metadata.uid ?? ""));
  }
  const next = await plan.next(fromStoredVersion(resource.kind, old));
  if (!next.ok) return next;
  const object = toStoredVersion(resource.kind, next.value);
  const placed = placeIn(verb, object);
  if (!placed.ok) return placed;
  const { raw: options, dryRun } = plan.options;
  const write = { operation: "UPDATE", object, old, options, dryRun } as const;
  const request = admissionRequest(verb, write);
  const admitted = await parts.admission.admit(request);
  if (!admitted.ok) return admitted;
  const draft = admitted.value;
  dedupeOwners(draft.metadata, verb.warn, true);

  const version = checkVersion(verb, draft, current);
  if (!version.ok) return version;
  const hooks = plan.subresource === undefined ? hooksOf(verb) : undefined;
  const begun = await hooks?.beginUpdate(draft, old, plan.options.dryRun);
  if (begun?.ok === false) return begun;
  const step = await updateRuled(verb, plan, current, draft, request);
  await begun?.value(step.ok && step.value.outcome === "written");
  return step;
}

async function updateRuled(
  verb: VerbRequest,
  plan: UpdatePlan,
  current: Revision,
  draft: Draft<KubeObject>,
  request: AdmissionRequest,
): Promise<Step> {
  const { parts, resource } = verb;
  const { stored } = resource;
  const old = current.value;
  const ruled = applyUpdateRules(
    stored.kind,
    resource.kind,
    plan.subresource,
    draft,
    old,
    ruleContextOf(verb),
    verb.warn,
  );
  if (!ruled.ok) return ruled;
  const refused = await parts.admission.validate({ ...request, object: draft });
  if (refused !== undefined) return failure(refused);
  const finished = finishObject(stored.kind, draft, old);
  if (!finished.ok) return finished;
  return await store(verb, plan, current, sameButTimes(finished.value, old));
}

async function store(
  verb: VerbRequest,
  plan: UpdatePlan,
  current: Revision,
  object: KubeObject,
): Promise<Step> {
  const { parts, resource } = verb;
  const { stored } = resource;
  const written = (revision: Revision): Step =>
    success({ outcome: "written", revision, created: false });
  const asItIs = (): Revision =>
    Revision.fromValue(stored.kind, current.key, current.number, object);
  if (isGone(object, current.value)) {
    if (plan.options.dryRun) return written(asItIs());
    const removed = await parts.objects.remove(stored, current.key, current);
    if (!removed.ok) return removed;
    if (removed.value.outcome === "conflict") return success(removed.value);
    await hooksOf(verb)?.afterDelete(object);
    return written(asItIs());
  }
  if (plan.options.dryRun) return written(asItIs());
  const wrote = await parts.objects.replace(stored, current.key, current, object);
  if (!wrote.ok) return wrote;
  return success(
    wrote.value.outcome === "conflict" ? wrote.value : { ...wrote.value, created: false },
  );
}

/** An update that takes away the last finalizer of a deleted object ends it. */
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

function placeIn({ resource, info }: VerbRequest, draft: Draft<KubeObject>): Result<undefined> {
  return settleNamespace(
    draft.metadata,
    resource.kind.scope === "Namespaced" ? info.namespace : "",
  );
}
