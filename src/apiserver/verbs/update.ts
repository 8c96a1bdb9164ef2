/** PUT: the whole object, or what one of its subresources covers. */
import { cloneGiven } from "#api/codec/given-empty.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { badRequestStatus, failure, type Result, success } from "#api/meta/status.ts";
import { decodeBody, expectKind } from "../request/decode-body.ts";
import { writeOptions } from "../request/query-options.ts";
import { typeMetaOf, type VerbRequest, type VerbResult } from "../request/verb.ts";
import { trackUpdate } from "../write/managed-fields.ts";
import { dedupeOwners, settleNamespace } from "../write/object-metadata.ts";
import { updateObject } from "../write/update-object.ts";

export async function update(verb: VerbRequest): Promise<VerbResult> {
  const { request, resource, info } = verb;
  const options = writeOptions(request.query, "UpdateOptions");
  if (!options.ok) return options;
  const { fieldValidation } = options.value;
  const decoded = decodeBody(request, expectKind(resource.kind), fieldValidation, verb.warn);
  if (!decoded.ok) return decoded;
  const draft = decoded.value;
  resource.kind.defaults?.(draft);
  verb.sent?.({ ...typeMetaOf(resource.kind), ...draft });
  const namespace = resource.kind.scope === "Namespaced" ? info.namespace : "";
  const placed = settleNamespace(draft.metadata, namespace);
  if (!placed.ok) return placed;
  const named = checkName(draft, info.name);
  if (!named.ok) return named;
  dedupeOwners(draft.metadata, verb.warn);

  const updated = await updateObject(verb, {
    options: options.value,
    uid: draft.metadata.uid || undefined,
    mayCreate: resource.stored.kind.createOnUpdate === true && info.subresource === "",
    subresource: subresourceOf(verb),
    next: (current) => {
      const next = cloneGiven(draft);
      trackUpdate(verb, current, next, options.value);
      return success(next);
    },
  });
  if (!updated.ok) return updated;
  const object = updated.value.revision.as(resource.kind);
  return success({ code: updated.value.created ? 201 : 200, body: { form: "object", object } });
}

/** The body must be about the object in the path. */
export function checkName(draft: Draft<KubeObject>, name: string): Result<undefined> {
  const said = draft.metadata.name ?? "";
  if (said === name) return success(undefined);
  return failure(
    badRequestStatus(
      said === ""
        ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
        : `the name of the object (${said}) does not match the name on the URL (${name})`,
    ),
  );
}

export function subresourceOf({ resource, info }: VerbRequest) {
  return info.subresource === ""
    ? undefined
    : resource.stored.kind.subresources?.[info.subresource];
}
