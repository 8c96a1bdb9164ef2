/** The text of a refusal: `pods "x" is forbidden: User "u" cannot get resource "pods" in …`. */
import type { Status } from "#api/generated/meta.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { forbiddenStatus } from "#api/meta/status.ts";
import type { ApiRequest } from "../request/request.ts";
import type { AccessAttributes } from "./authorizer.ts";

export function accessDeniedStatus(attributes: AccessAttributes, reason: string): Status {
  const { group, resource, name } = attributes;
  const text = escapeMarkup(describeDenial(attributes));
  return forbiddenStatus({ group, resource }, name, reason === "" ? text : `${text}: ${reason}`);
}

/** Errors before a request can be authorized are sent as plain text. */
export function undecidedText({ rawUrl, path }: ApiRequest, why: string): string {
  return escapeMarkup(`Internal Server Error: ${goQuote(rawUrl ?? path)}: ${why}\n`);
}

function describeDenial(attributes: AccessAttributes): string {
  const { user, verb, path, resource, subresource, group, namespace } = attributes;
  const who = `User ${goQuote(user.name)} cannot ${verb}`;
  if (!attributes.isResource) return `${who} path ${goQuote(path)}`;
  const what = subresource === "" ? resource : `${resource}/${subresource}`;
  const where =
    namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(namespace)}`;
  return `${who} resource ${goQuote(what)} in API group ${goQuote(group)} ${where}`;
}

/** The text holds what the client sent; no browser may take it for a page. */
function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
