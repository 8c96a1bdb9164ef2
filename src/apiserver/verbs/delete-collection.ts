/** DELETE of a collection: every object that the selectors choose, one by one. */
import { success } from "#api/meta/status.ts";
import { decodeDeleteOptions } from "../request/decode-delete-options.ts";
import { listOptions } from "../request/query-options.ts";
import { select } from "../request/selection.ts";
import type { VerbRequest, VerbResult } from "../request/verb.ts";
import { deleteObject } from "../write/write-object.ts";
import { auditDeleteOptions } from "./delete.ts";
import { listSelected } from "./list.ts";

/** Deletes that wait together share a commit of the store. */
const TOGETHER = 32;

export async function deleteCollection(verb: VerbRequest): Promise<VerbResult> {
  const { resource, info, request } = verb;
  const options = listOptions(request.query);
  if (!options.ok) return options;
  const selection = select(resource, info.namespace, options.value);
  if (!selection.ok) return selection;
  const deleteOptions = decodeDeleteOptions(request);
  if (!deleteOptions.ok) return deleteOptions;
  auditDeleteOptions(verb, deleteOptions.value);
  const { deletion } = resource.stored.kind;
  for (const warning of deletion?.warnings?.(deleteOptions.value) ?? []) verb.warn(warning);
  const listed = await listSelected(verb, selection.value, options.value);
  if (!listed.ok) return listed;
  const { items } = listed.value;
  for (let at = 0; at < items.length; at += TOGETHER) {
    const deleted = await Promise.all(
      items.slice(at, at + TOGETHER).map(({ value: { metadata } }) => {
        const { namespace = "", name = "" } = metadata;
        return deleteObject(verb, namespace, name, deleteOptions.value);
      }),
    );
    const failed = deleted.find((one) => !one.ok && one.status.code !== 404);
    if (failed?.ok === false) return failed;
  }
  return success({ code: 200, body: { form: "list", list: listed.value } });
}
