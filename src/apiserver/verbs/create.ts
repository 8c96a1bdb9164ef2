/** POST to a collection: a new object. */

import { cloneGiven } from "#api/codec/given-empty.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import {
  alreadyExistsStatus,
  failure,
  generateNameConflictStatus,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { type AdmissionRequest, admissionRequest } from "../admission/admission-request.ts";
import { decodeBody, expectKind } from "../request/decode-body.ts";
import { type WriteOptions, writeOptions } from "../request/query-options.ts";
import {
  groupResourceOf,
  hooksOf,
  typeMetaOf,
  type VerbRequest,
  type VerbResult,
} from "../request/verb.ts";
import { keyOf } from "../storage/resources.ts";
import { Revision } from "../storage/revision.ts";
import { trackCreate } from "../write/managed-fields.ts";
import {
  broughtVersion,
  dedupeOwners,
  fillSystemFields,
  generatedName,
  settleNamespace,
  wipeSystemFields,
} from "../write/object-metadata.ts";
import { ruleContextOf } from "../write/rule-context.ts";
import { applyCreateRules, finishObject, toStoredVersion } from "../write/write-rules.ts";

/** So many names are tried before a generated name counts as taken. */
const NAME_ATTEMPTS = 8;

export async function create(verb: VerbRequest): Promise<VerbResult> {
  const { request, resource, info } = verb;
  const options = writeOptions(request.query, "CreateOptions");
  if (!options.ok) return options;
  const { fieldValidation } = options.value;
  const decoded = decodeBody(request, expectKind(resource.kind), fieldValidation, verb.warn);
  if (!decoded.ok) return decoded;
  const draft = decoded.value;
  resource.kind.defaults?.(draft);
  verb.sent?.({ ...typeMetaOf(resource.kind), ...draft });

  wipeSystemFields(draft.metadata);
  const namespace = resource.kind.scope === "Namespaced" ? info.namespace : "";
  const placed = settleNamespace(draft.metadata, namespace);
  if (!placed.ok) return placed;
  dedupeOwners(draft.metadata, verb.warn);
  trackCreate(verb, draft, options.value);
  const created = await createDecoded(verb, draft, options.value);
  if (!created.ok) return created;
  const object = created.value.as(resource.kind);
  return success({ code: 201, body: { form: "object", object } });
}

/** From a decoded draft in the request's version to a stored object. */
async function createDecoded(
  verb: VerbRequest,
  draft: Draft<KubeObject>,
  options: WriteOptions,
): Promise<Result<Revision>> {
  const wanted = toStoredVersion(verb.resource.kind, draft);
  const admitted = await verb.parts.admission.admit(requestFor(verb, wanted, options));
  if (!admitted.ok) return admitted;
  const stored = admitted.value;
  dedupeOwners(stored.metadata, verb.warn, true);

  const { generateName = "", name = "" } = stored.metadata;
  if (generateName === "") return await createOnce(verb, stored, options);
  for (let attempt = 1; ; attempt++) {
    const tried = cloneGiven(stored);
    tried.metadata.name = name || generatedName(generateName, verb.parts.random);
    const created = await createOnce(verb, tried, options);
    if (created.ok || created.status.reason !== "AlreadyExists") return created;
    if (name === "" && attempt < NAME_ATTEMPTS) continue;
    const subject = groupResourceOf(verb.resource);
    return failure(generateNameConflictStatus(subject, tried.metadata.name, 1));
  }
}

async function createOnce(
  verb: VerbRequest,
  draft: Draft<KubeObject>,
  options: WriteOptions,
): Promise<Result<Revision>> {
  const { parts } = verb;
  fillSystemFields(draft.metadata, parts.clock.nowMs(), parts.random);
  const hooks = hooksOf(verb);
  if (hooks === undefined) return await createRuled(verb, draft, options);
  const begun = await hooks.beginCreate(draft, options.dryRun);
  if (!begun.ok) return begun;
  const created = await createRuled(verb, draft, options);
  await begun.value(created.ok);
  return created;
}

async function createRuled(
  verb: VerbRequest,
  draft: Draft<KubeObject>,
  options: WriteOptions,
): Promise<Result<Revision>> {
  const { parts, resource } = verb;
  const { stored } = resource;
  const ruled = applyCreateRules(stored.kind, resource.kind, draft, ruleContextOf(verb), verb.warn);
  if (!ruled.ok) return ruled;
  const refusal = await parts.admission.validate(requestFor(verb, draft, options));
  if (refusal !== undefined) return failure(refusal);
  if (!options.dryRun && (draft.metadata.resourceVersion ?? "") !== "") {
    return failure(unknownStatus("resourceVersion should not be set on objects to be created"));
  }
  const finished = finishObject(stored.kind, draft);
  if (!finished.ok) return finished;

  const { namespace = "", name = "" } = finished.value.metadata;
  const key = keyOf(stored, namespace, name);
  if (options.dryRun) {
    const there = await parts.objects.read(stored, key);
    if (!there.ok) return there;
    if (there.value !== undefined) return failure(existsStatus(verb, name, there.value));
    return success(Revision.fromValue(stored.kind, key, broughtVersion(draft), finished.value));
  }
  const written = await parts.objects.create(stored, key, finished.value);
  if (!written.ok) return written;
  if (written.value.outcome === "written") return success(written.value.revision);
  return failure(existsStatus(verb, name, written.value.current));
}

function existsStatus(verb: VerbRequest, name: string, current: Revision | undefined): Status {
  const status = alreadyExistsStatus(groupResourceOf(verb.resource), name);
  if (current?.value.metadata.deletionTimestamp === undefined) return status;
  return { ...status, message: `object is being deleted: ${status.message}` };
}

function requestFor(
  verb: VerbRequest,
  object: Draft<KubeObject>,
  { raw, dryRun }: WriteOptions,
): AdmissionRequest<Draft<KubeObject>> {
  const { name = "", namespace = "" } = object.metadata;
  const { group, names } = verb.resource.kind;
  const isNamespace = group === "" && names.plural === "namespaces";
  const place = { namespace: isNamespace ? name : namespace, name };
  return admissionRequest(verb, { operation: "CREATE", object, options: raw, dryRun, place });
}
