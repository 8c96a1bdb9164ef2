/** Documents that can be got and nothing else, as upstream serves them: other methods hear 405. */
import { type Answer, statusAnswer } from "../answer.ts";
import type { ApiRequest } from "../request.ts";
import { methodNotAllowedStatus } from "../router.ts";

export function getOnly<T extends Answer | undefined>(
  { method }: ApiRequest,
  document: T,
): T | Answer {
  if (document === undefined || method === "GET") return document;
  return statusAnswer(methodNotAllowedStatus());
}
