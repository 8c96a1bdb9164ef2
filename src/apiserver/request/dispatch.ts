/** Finds the verb of a resource request, negotiates the media type of its response, and runs it. */
import type { Status } from "#api/generated/meta.v1.ts";
import type { Verb } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { badRequestStatus, failure, noSuchPathStatus } from "#api/meta/status.ts";
import type { SubresourceRoute } from "#api/subresource-route.ts";
import { WorkPace } from "#lib/async/work-pace.ts";
import type { AuditTrail } from "../audit/audit.ts";
import { type Answer, answer, statusAnswer } from "../response/answer.ts";
import { refuseTransform } from "../response/check-transform.ts";
import {
  JSON_MEDIA,
  type Media,
  mediaTypeOf,
  negotiate,
  negotiateFailure,
  refuseByRoute,
} from "../response/negotiate.ts";
import type { ServedResource } from "../storage/resources.ts";
import { getScale, patchScale, updateScale } from "../subresources/scale.ts";
import { create } from "../verbs/create.ts";
import { deleteOne } from "../verbs/delete.ts";
import { deleteCollection } from "../verbs/delete-collection.ts";
import { get } from "../verbs/get.ts";
import { list } from "../verbs/list.ts";
import { patch } from "../verbs/patch.ts";
import { update } from "../verbs/update.ts";
import { watch } from "../verbs/watch.ts";
import { PATCH_TYPES } from "../write/decode-write.ts";
import { refuseCustomMedia } from "./refuse-custom-media.ts";
import type { ApiRequest, RequestInfo, User } from "./request.ts";
import { nameFaults } from "./request-info.ts";
import { methodNotAllowedStatus, routeOf, unsupportedByRouteStatus } from "./router.ts";
import type { RequestSecurity } from "./security.ts";
import { findSubresource } from "./subresource-routes.ts";
import { tooLateStatus } from "./time-limit.ts";
import { notFound, type ServerParts, type VerbRequest, type VerbResult } from "./verb.ts";

export interface RunVerb {
  (verb: VerbRequest): Promise<VerbResult>;
  /** False if the response cannot be a Table. */
  readonly tables?: boolean;
}

/**
 * Resources that are not stored but answered (reviews), and subresources with rules of their own, by
 * `GROUP/PLURAL` or `GROUP/PLURAL/SUBRESOURCE`, then by verb.
 */
export type SpecialVerbs = Readonly<Record<string, Readonly<Record<string, RunVerb>>>>;

const VERBS: Readonly<Record<Verb, RunVerb>> = {
  create,
  get,
  list,
  watch,
  update,
  patch,
  delete: deleteOne,
  deletecollection: deleteCollection,
};

const SCALE_VERBS: Readonly<Record<string, RunVerb>> = {
  get: getScale,
  update: updateScale,
  patch: patchScale,
};

export interface DispatchOptions {
  readonly parts: ServerParts;
  readonly special: SpecialVerbs;
  readonly security: Pick<RequestSecurity, "authorize">;
}

export async function dispatch(
  options: DispatchOptions,
  request: ApiRequest,
  info: RequestInfo,
  user: User,
  trail?: AuditTrail,
): Promise<Answer> {
  const { parts, security } = options;
  const found =
    info.subresource === "" ? whole(options, request, info) : part(options, request, info);
  const refuse = (status: Status): Answer =>
    statusAnswer(status, { media: mediaOrJson(request), warnings });
  const warnings: string[] = [];
  if (!found.ok) return refuse(found.status);
  const badName = nameFault(info.name);
  if (badName !== undefined) return refuse(badRequestStatus(badName));
  const { resource, run, forms } = found;
  const { headers, query } = request;
  const watching = info.verb === "watch" && info.subresource === "";
  let media: Media = JSON_MEDIA;
  if (forms === "negotiated") {
    if (
      info.verb === "patch" &&
      !Object.hasOwn(PATCH_TYPES, mediaTypeOf(headers["content-type"] ?? ""))
    ) {
      return refuse(unsupportedByRouteStatus());
    }
    const refused = refuseByRoute(headers, watching || info.verb === "list");
    if (refused !== undefined) return refuse(refused);
    const { deprecation } = resource.kind;
    if (deprecation !== undefined) {
      warnings.push(deprecation);
      parts.deprecated?.(info, deprecation);
    }
    const agreed = negotiate({ headers, query, watch: watching, tables: run.tables !== false });
    if (!agreed.ok) return refuse(agreed.status);
    media = agreed.value;
    const unspoken = resource.kind.custom && refuseCustomMedia(request, info, media);
    if (unspoken !== undefined) return refuse(unspoken);
  }
  const work = run({
    parts,
    request,
    info,
    resource,
    user,
    media,
    pace: new WorkPace(parts.clock),
    warn: (text) => warnings.push(text),
    ...(trail === undefined
      ? {}
      : {
          annotate: (key, value, level) => trail.annotate(key, value, level),
          sent: (object) => trail.sent(object),
        }),
    mayCreate: () => security.authorize(request, { ...info, verb: "create" }, user),
  });
  const limited = forms === "negotiated" && LIMITED_VERBS.has(info.verb);
  const result = await (limited ? parts.writeLimit.within(work, tooLate) : work);
  if (!result.ok) return refuse(result.status);
  const { code, body } = result.value;
  const refusal = refuseTransform(body, media, query);
  return refusal === undefined ? answer(code, body, { media, warnings }) : refuse(refusal);
}

/** One object is written. Collections have all the time that requests have. */
const LIMITED_VERBS: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

function tooLate(): VerbResult {
  return failure(tooLateStatus());
}

/** What a failure is sent in: what the client accepts if we can, else JSON. */
export function mediaOrJson({ headers, query }: ApiRequest): Media {
  return negotiateFailure(headers, query);
}

/** Names that could not be part of a path. */
function nameFault(name: string): string | undefined {
  const faults = nameFaults(name);
  if (faults.length === 0) return undefined;
  return `Name parameter invalid: ${goQuote(name)}: ${faults.join(";")}`;
}

type Found =
  | {
      readonly ok: true;
      readonly resource: ServedResource;
      readonly run: RunVerb;
      /** Proxies and streams choose the form of their answers themselves. */
      readonly forms: "negotiated" | "own";
    }
  | Extract<ReturnType<typeof routeOf>, { ok: false }>;

function whole({ parts, special }: DispatchOptions, request: ApiRequest, info: RequestInfo): Found {
  const route = routeOf(parts.resources, info, request.method);
  if (!route.ok) return route;
  const { resource } = route;
  const own = special[`${resource.kind.group}/${resource.kind.names.plural}`]?.[route.verb];
  return { ok: true, resource, run: own ?? VERBS[route.verb], forms: "negotiated" };
}

function part({ parts, special }: DispatchOptions, request: ApiRequest, info: RequestInfo): Found {
  const missing: Found = { ok: false, status: noSuchPathStatus() };
  const resource = parts.resources.find(info.group, info.version, info.resource);
  const route = resource && findSubresource(resource, info.subresource);
  if (resource === undefined || route === undefined) {
    if (resource?.kind.custom === undefined || info.rest.length > 0) return missing;
    return { ok: false, status: notFound({ resource }, info.name) };
  }
  if ((resource.kind.scope === "Namespaced") !== (info.namespace !== "")) {
    if (info.resource !== "namespaces") return missing;
  }
  if (info.rest.length > 0 && route.name !== "proxy") return missing;
  const verb = info.verb === "watch" || info.verb === "list" ? "get" : info.verb;
  const headless = request.method === "HEAD" && route.name !== "proxy";
  const anyway = verb === "" && request.method === "OPTIONS" && route.name === "proxy";
  if (headless || !(anyway || route.verbs.includes(verb)))
    return { ok: false, status: methodNotAllowedStatus() };
  const run = runOf(resource, route, verb, special);
  if (run === undefined) return missing;
  return { ok: true, resource, run, forms: route.how === "connect" ? "own" : "negotiated" };
}

function runOf(
  { kind }: ServedResource,
  { name, how }: SubresourceRoute,
  verb: string,
  special: SpecialVerbs,
): RunVerb | undefined {
  const own = special[`${kind.group}/${kind.names.plural}/${name}`]?.[verb];
  if (own !== undefined) return own;
  if (how === "scale") return SCALE_VERBS[verb];
  return how === "object" ? VERBS[verb as Verb] : undefined;
}
