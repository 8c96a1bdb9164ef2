/**
 * The rules between a decoded object and a stored one: the kind's hooks and the checks of metadata,
 * in upstream's order. Everything here works on the stored version.
 */

import { normalize } from "#api/codec/json.ts";
import type { Draft, Kind, KubeObject, RuleContext, SubresourceSpec } from "#api/kind.ts";
import { objectOf } from "#api/members.ts";
import {
  failure,
  internalErrorStatus,
  invalidStatus,
  type Result,
  success,
} from "#api/meta/status.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import type { FieldError } from "#api/validation/field-error.ts";
import { type FieldErrors, isStepwise } from "#api/validation/field-errors.ts";
import { pathSegmentName } from "#api/validation/names.ts";
import {
  validateNames,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Steps } from "#lib/async/steps.ts";
import type { VerbRequest } from "../request/verb.ts";
import { reuseUnchangedParts, takenParts, withoutParts, withParts } from "./unchanged-parts.ts";

const METADATA = Path.of("metadata");

/** The caller of the rules: receives warnings, and lets other work run between the steps. */
type RuleCaller = Pick<VerbRequest, "warn" | "pace">;

/** Runs the rules of a create on the draft. `served` is the version that the request is in. */
export function applyCreateRules(
  kind: Kind,
  served: Kind,
  draft: Draft<KubeObject>,
  context: RuleContext,
  { warn, pace }: RuleCaller,
): MaybePromise<Result<KubeObject>> {
  return pace.run(createRules(kind, served, draft, context, warn));
}

function* createRules(
  kind: Kind,
  served: Kind,
  draft: Draft<KubeObject>,
  context: RuleContext,
  warn: VerbRequest["warn"],
): Steps<Result<KubeObject>> {
  if (kind.generation) draft.metadata.generation = 1;
  kind.prepareCreate?.(draft, { ...context, warn });
  const metadataErrors = validateObjectMeta(
    draft.metadata,
    {
      namespaced: kind.scope === "Namespaced",
      nameRule: (name, prefix) =>
        (hasOwnRules(served) ? served : kind).nameRule(name, prefix, draft),
    },
    METADATA,
  );
  yield;
  const ownErrors = hasOwnRules(served)
    ? served.validate?.(served.storedAs!.fromStored(draft), context)
    : kind.validate?.(draft, context);
  const errors = [
    ...metadataErrors,
    ...(isStepwise(ownErrors) ? yield* ownErrors : (ownErrors ?? [])),
  ];
  // A kind that takes any name still needs one that fits into a path.
  if (errors.length === 0) errors.push(...validateNames(draft.metadata, pathSegmentName, METADATA));
  yield;
  if (errors.length > 0) return invalidObject(kind, draft, errors);
  for (const text of kind.warnings?.(draft, undefined, context) ?? []) warn(text);
  kind.canonicalize?.(draft);
  return success(draft);
}

/** Runs the rules of an update, of the whole object or of one of its subresources. */
export async function applyUpdateRules(
  kind: Kind,
  served: Kind,
  subresource: SubresourceSpec<KubeObject> | undefined,
  draft: Draft<KubeObject>,
  old: KubeObject,
  context: RuleContext,
  { warn, pace }: RuleCaller,
): Promise<Result<KubeObject>> {
  keep(draft, old, "generation");
  const rules = { ...context, warn };
  if (subresource !== undefined) subresource.prepareUpdate(draft, old, rules);
  else kind.prepareUpdate?.(draft, old, rules);
  // Kinds that change the draft once more must be able to.
  if (subresource !== undefined || kind.canonicalize === undefined) reuseUnchangedParts(draft, old);
  if (kind.generation) countGeneration(draft, old);
  settleSystemFields(draft, old);
  if (pace.isDue) await pace.rest();
  const namespaced = kind.scope === "Namespaced";
  const options = { namespaced, nameRule: pathSegmentName };
  const metadataErrors = validateObjectMeta(draft.metadata, options, METADATA);
  if (pace.isDue) await pace.rest();
  const metadataChangeErrors = validateObjectMetaUpdate(draft.metadata, old.metadata, METADATA);
  if (pace.isDue) await pace.rest();
  const ownErrors = validateChange(kind, served, subresource, draft, old, context);
  const errors = [
    ...metadataErrors,
    ...metadataChangeErrors,
    ...(isStepwise(ownErrors) ? await pace.run(ownErrors) : (ownErrors ?? [])),
  ];
  if (pace.isDue) await pace.rest();
  if (errors.length > 0) return invalidObject(kind, draft, errors);
  const warnings =
    subresource === undefined
      ? kind.warnings?.(draft, old, context)
      : subresource.warnings?.(draft, old);
  for (const text of warnings ?? []) warn(text);
  if (subresource === undefined) kind.canonicalize?.(draft);
  return success(draft);
}

function validateChange(
  kind: Kind,
  served: Kind,
  subresource: SubresourceSpec<KubeObject> | undefined,
  draft: KubeObject,
  old: KubeObject,
  context: RuleContext,
): FieldErrors | undefined {
  if (subresource !== undefined) return subresource.validateUpdate?.(draft, old, context);
  if (!hasOwnRules(served)) return kind.validateUpdate?.(draft, old, context);
  const [next, before] = [draft, old].map((object) => served.storedAs!.fromStored(object));
  return served.validateUpdate?.(next, before, context);
}

/** A served version may be stricter than the stored one. */
function hasOwnRules(served: Kind): boolean {
  return served.storedAs !== undefined && served.validate !== undefined;
}

/** Counts changes of what the user wants: everything but metadata and status. */
function countGeneration(draft: Draft<KubeObject>, old: KubeObject): void {
  if ((draft.metadata.generation ?? 0) !== (old.metadata.generation ?? 0)) return; // a hook has
  const next = wanted(draft);
  const before = wanted(old);
  if (!jsonEqual(next, before)) draft.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

function wanted(object: KubeObject & { readonly status?: unknown }): Record<string, unknown> {
  const { metadata: _, status: __, kind: ___, apiVersion: ____, ...rest } = object;
  return rest;
}

/** The normal form of a finished object. It shares nothing with the draft but what that took from `old`. */
export function finishObject(kind: Kind, draft: KubeObject, old?: KubeObject): Result<KubeObject> {
  const taken = old === undefined ? undefined : takenParts(draft, old);
  const changed = taken === undefined ? draft : withoutParts(draft, taken);
  const normal = normalize(kind.schema(), changed);
  if (!normal.ok) return failure(internalErrorStatus(`${kind.names.kind}: ${normal.error}`));
  const { kind: _, apiVersion: __, metadata, ...rest } = normal.value;
  const parts = taken === undefined || taken.size === 0 ? rest : withParts(rest, taken, old!);
  const object = { kind: kind.names.kind, apiVersion: kind.apiVersion, metadata, ...parts };
  return success(objectOf(object));
}

/** Metadata that no update can change. */
function settleSystemFields(draft: Draft<KubeObject>, old: KubeObject): void {
  const meta = draft.metadata;
  if ((meta.uid ?? "") === "") keep(draft, old, "uid");
  if (old.metadata.creationTimestamp != null) keep(draft, old, "creationTimestamp");
  if (old.metadata.deletionTimestamp !== undefined) keep(draft, old, "deletionTimestamp");
  if (
    old.metadata.deletionGracePeriodSeconds !== undefined &&
    meta.deletionGracePeriodSeconds === undefined
  ) {
    keep(draft, old, "deletionGracePeriodSeconds");
  }
}

type KeptField =
  | "generation"
  | "uid"
  | "creationTimestamp"
  | "deletionTimestamp"
  | "deletionGracePeriodSeconds";

function keep(draft: Draft<KubeObject>, old: KubeObject, field: KeptField): void {
  const meta = draft.metadata as Record<string, unknown>;
  if (old.metadata[field] === undefined) delete meta[field];
  else meta[field] = old.metadata[field];
}

function invalidObject(
  kind: Kind,
  { metadata }: KubeObject,
  errors: readonly FieldError[],
): Result<never> {
  const subject = { group: kind.group, kind: kind.names.kind };
  return failure(invalidStatus(subject, metadata.name ?? "", errors));
}
