/** Documents that can be got and nothing else, as upstream's routes serve them. */
import { type Answer, statusAnswer } from "../answer.ts";
import { negotiateFailure, refuseByRoute } from "../negotiate.ts";
import type { ApiRequest } from "../request.ts";
import { methodNotAllowedStatus } from "../router.ts";

/** `types`: the forms that the document has; those of objects unless given. */
export function getOnly(request: ApiRequest, document: Answer, types?: readonly string[]): Answer {
  const { method, headers, query } = request;
  const refusal =
    method === "GET" ? refuseByRoute(headers, false, types) : methodNotAllowedStatus();
  if (refusal === undefined) return document;
  return statusAnswer(refusal, { media: negotiateFailure(headers, query) });
}
