/** Documents that can be got and nothing else, as upstream's routes serve them. */

import type { ApiRequest } from "../request/request.ts";
import { methodNotAllowedStatus } from "../request/router.ts";
import { type Answer, statusAnswer } from "../response/answer.ts";
import { negotiateFailure, refuseByRoute } from "../response/negotiate.ts";

/** `types`: the forms that the document has; those of objects unless given. */
export function getOnly(request: ApiRequest, document: Answer, types?: readonly string[]): Answer {
  const { method, headers, query } = request;
  const refusal =
    method === "GET" ? refuseByRoute(headers, false, types) : methodNotAllowedStatus();
  if (refusal === undefined) return document;
  return statusAnswer(refusal, { media: negotiateFailure(headers, query) });
}
