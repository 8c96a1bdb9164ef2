/**
 * The chain that every request goes through, whatever brought it:
 * who asks → may they → which route → the verb → the answer.
 */
import type { Verb } from "#api/kind.ts";
import { internalErrorStatus } from "#api/meta/status.ts";
import { type Answer, answer, statusAnswer, textAnswer } from "./answer.ts";
import { deprecationWarning } from "./deprecation.ts";
import { JSON_MEDIA, type Media, negotiate, refuseByRoute } from "./negotiate.ts";
import type { ApiRequest, RequestInfo, User } from "./request.ts";
import { requestInfoOf } from "./request-info.ts";
import { methodNotAllowedStatus, routeOf } from "./router.ts";
import type { RequestSecurity } from "./security.ts";
import type { ServerParts, VerbRequest, VerbResult } from "./verb.ts";
import { create } from "./verbs/create.ts";
import { deleteOne } from "./verbs/delete.ts";
import { deleteCollection } from "./verbs/delete-collection.ts";
import { get } from "./verbs/get.ts";
import { list } from "./verbs/list.ts";
import { patch } from "./verbs/patch.ts";
import { update } from "./verbs/update.ts";
import { watch } from "./verbs/watch.ts";

/** Who asks, and whether they may. */
export type Security = Pick<RequestSecurity, "authenticate" | "authorize">;

/** Something other than a resource at a path: health, version, discovery. Undefined: not here. */
export type PathHandler = (
  request: ApiRequest,
  info: RequestInfo,
  user: User,
) => Answer | Promise<Answer> | undefined;

export interface HandlerOptions {
  readonly parts: ServerParts;
  readonly security: Security;
  readonly paths: readonly PathHandler[];
}

export type Handler = (request: ApiRequest) => Promise<Answer>;

const VERBS: Readonly<Record<Verb, (verb: VerbRequest) => Promise<VerbResult>>> = {
  create,
  get,
  list,
  watch,
  update,
  patch,
  delete: deleteOne,
  deletecollection: deleteCollection,
};

export function createHandler(options: HandlerOptions): Handler {
  const { parts, security } = options;
  return async (request) => {
    try {
      const info = requestInfoOf(request.method, request.path, request.query);
      const known = await security.authenticate(request, info);
      if ("status" in known) return statusAnswer(known.status);
      const refusal = await security.authorize(request, info, known.user);
      if (refusal !== undefined) return statusAnswer(refusal, { media: mediaOrJson(request) });
      return await answerFor(options, request, info, known.user);
    } catch (error) {
      parts.logger.error("request failed", { error, path: request.path, method: request.method });
      return statusAnswer(internalErrorStatus("the server could not handle the request"));
    }
  };
}

async function answerFor(
  { parts, paths }: HandlerOptions,
  request: ApiRequest,
  info: RequestInfo,
  user: User,
): Promise<Answer> {
  for (const path of paths) {
    const found = path(request, info, user);
    if (found !== undefined) return await found;
  }
  if (!info.isResource) return textAnswer(404, "404 page not found\n");
  const route = routeOf(parts.resources, info, request.method);
  if (!route.ok) return statusAnswer(route.status);
  if (
    info.subresource !== "" &&
    route.resource.stored.kind.subresources?.[info.subresource] === undefined
  ) {
    return statusAnswer(methodNotAllowedStatus());
  }
  const watching = route.verb === "watch";
  const refused = refuseByRoute(request.headers, watching || route.verb === "list");
  if (refused !== undefined) return statusAnswer(refused);
  const { headers, query } = request;
  const media = negotiate({ headers, query, watch: watching });
  if (!media.ok) return statusAnswer(media.status, { media: mediaOrJson(request) });

  const warnings: string[] = [];
  const deprecated = deprecationWarning(route.resource.kind);
  if (deprecated !== undefined) warnings.push(deprecated);
  const verb: VerbRequest = {
    parts,
    request,
    info,
    resource: route.resource,
    user,
    media: media.value,
    warn: (text) => warnings.push(text),
  };
  const result = await VERBS[route.verb](verb);
  const extras = { media: media.value, warnings };
  return result.ok
    ? answer(result.value.code, result.value.body, extras)
    : statusAnswer(result.status, extras);
}

/** What an error is sent in: what the client accepts if we can, else JSON. */
function mediaOrJson({ headers, query }: ApiRequest): Media {
  const media = negotiate({ headers, query });
  return media.ok ? media.value : JSON_MEDIA;
}
