/** The authorization attributes of a request. */
import { parseFieldSelector } from "#api/meta/field-selector.ts";
import { parseSelector } from "#api/meta/label-selector.ts";
import type { RequestInfo, User } from "../request/request.ts";
import { hasVerbInPath } from "../request/request-info.ts";
import type { AccessAttributes } from "./authorizer.ts";

const SELECTING = new Set(["list", "watch", "deletecollection"]);

/**
 * Invalid selectors are left out: that needs a broader permission, and the verb refuses them anyway.
 * The deprecated /watch/ paths do not support selector authorization, as upstream.
 */
export function accessAttributes(
  info: RequestInfo,
  user: User,
  query: URLSearchParams,
): AccessAttributes {
  const { isResource, verb, path, group, version, resource, subresource, namespace, name } = info;
  const attributes = {
    user,
    isResource,
    verb,
    path,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
  };
  if (!isResource || !SELECTING.has(verb)) return attributes;
  if (verb === "watch" && hasVerbInPath(path)) return attributes;
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "");
  const labels = parseSelector(query.get("labelSelector") ?? "");
  return {
    ...attributes,
    ...(fields.ok && fields.value.length > 0 ? { fieldSelector: fields.value } : {}),
    ...(labels.ok && labels.value.length > 0 ? { labelSelector: labels.value } : {}),
  };
}
