/** PATCH: JSON patch, merge patch, strategic merge patch and server-side apply. */

import type { Draft, KubeObject } from "#api/kind.ts";
import {
  badRequestStatus,
  conflictStatus,
  failure,
  type Result,
  success,
} from "#api/meta/status.ts";
import { bodyBytes } from "../request/body-bytes.ts";
import { writeOptions } from "../request/query-options.ts";
import { groupResourceOf, type VerbRequest, type VerbResult } from "../request/verb.ts";
import { mediaTypeOf } from "../response/negotiate.ts";
import { applyConfiguration, trackUpdate } from "../write/managed-fields.ts";
import { settleNamespace } from "../write/object-metadata.ts";
import { type PatchType, patchDocument } from "../write/patch-document.ts";
import { updateObject } from "../write/update-object.ts";
import { checkName, subresourceOf } from "./update.ts";

export const PATCH_TYPES: Readonly<Record<string, PatchType | "apply">> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

export async function patch(verb: VerbRequest): Promise<VerbResult> {
  const { request, resource, info } = verb;
  const type = PATCH_TYPES[mediaTypeOf(request.headers["content-type"] ?? "")];
  if (type === undefined) return failure(badRequestStatus("unknown patch type"));
  const isApply = type === "apply";
  const options = writeOptions(request.query, "PatchOptions", isApply);
  if (!options.ok) return options;
  const sent = bodyBytes(request.body);
  if (!sent.ok) return sent;
  const bytes = sent.value;
  verb.sent?.();
  const next = (current: KubeObject | undefined): Result<Draft<KubeObject>> => {
    if (isApply) return applyConfiguration(verb, current, bytes, options.value);
    const patched = patchDocument(type, current!, bytes, resource.kind, options.value, verb.warn);
    if (!patched.ok) return patched;
    trackUpdate(verb, current, patched.value, options.value);
    return patched;
  };

  const updated = await updateObject(verb, {
    options: options.value,
    uid: undefined,
    mayCreate: isApply && info.subresource === "",
    subresource: subresourceOf(verb),
    next: (current) => {
      const wanted = next(current);
      if (!wanted.ok) return wanted;
      const draft = wanted.value;
      if (current === undefined && (draft.metadata.uid ?? "") !== "") {
        const why = `uid mismatch: the provided object specified uid ${draft.metadata.uid}, and no existing object was found`;
        return failure(conflictStatus(groupResourceOf(resource), info.name, why));
      }
      const namespace = resource.kind.scope === "Namespaced" ? info.namespace : "";
      const placed = settleNamespace(draft.metadata, namespace);
      if (!placed.ok) return placed;
      const named = checkName(draft, info.name);
      return named.ok ? success(draft) : named;
    },
  });
  if (!updated.ok) return updated;
  const object = updated.value.revision.as(resource.kind);
  return success({ code: updated.value.created ? 201 : 200, body: { form: "object", object } });
}
