/** DELETE of a collection: every object that the selectors choose, one by one. */
import { success } from "#api/meta/status.ts";
import { decodeDeleteOptions } from "../decode-delete-options.ts";
import { listOptions } from "../query-options.ts";
import { select } from "../selection.ts";
import type { VerbRequest, VerbResult } from "../verb.ts";
import { deleteObject } from "./delete.ts";
import { listSelected } from "./list.ts";

export async function deleteCollection(verb: VerbRequest): Promise<VerbResult> {
  const { resource, info, request } = verb;
  const options = listOptions(request.query);
  if (!options.ok) return options;
  const selection = select(resource, info.namespace, options.value);
  if (!selection.ok) return selection;
  const deleteOptions = decodeDeleteOptions(request);
  if (!deleteOptions.ok) return deleteOptions;
  const listed = await listSelected(verb, selection.value, options.value);
  if (!listed.ok) return listed;
  for (const item of listed.value.items) {
    const { namespace = "", name = "" } = item.value.metadata;
    const deleted = await deleteObject(verb, namespace, name, deleteOptions.value);
    if (!deleted.ok && deleted.status.code !== 404) return deleted;
  }
  return success({ code: 200, body: { form: "list", list: listed.value } });
}
