/** /api, /apis and the documents below them. */
import { createHash } from "node:crypto";
import { encodeJson } from "#api/codec/json.ts";
import { noSuchPathStatus } from "#api/meta/status.ts";
import { type Answer, type ApiValue, answer, statusAnswer } from "../answer.ts";
import type { Discovery } from "../discovery.ts";
import type { PathHandler } from "../handler.ts";
import { JSON_MEDIA, negotiate, negotiateFailure } from "../negotiate.ts";
import type { ApiRequest } from "../request.ts";
import { getOnly } from "./get-only.ts";

export function discoveryPaths(discovery: Discovery, serverAddress: string): PathHandler {
  const core = (request: ApiRequest): Answer => {
    if (wantsAggregated(request)) return aggregated(discovery, true, request);
    return plain(discovery.coreVersions(serverAddress), request);
  };
  const groups = (request: ApiRequest): Answer => {
    // The path with a slash at its end never learnt it.
    const exact = request.path === "/apis";
    if (exact && wantsAggregated(request)) return aggregated(discovery, false, request);
    return plain(discovery.groupList(), request);
  };
  // The lists of groups are told to every method, as upstream does; the others only to GET.
  return (request) => {
    const path = request.path.replace(/\/$/, "");
    if (path === "/api") return getOnly(request, core(request));
    if (path === "/apis") return groups(request);
    const [, root, first = "", second, ...more] = path.split("/");
    if (root === "api") {
      const list = second === undefined ? discovery.resourceList("", first) : undefined;
      return list ? getOnly(request, plain(list, request)) : NOWHERE;
    }
    const group = root === "apis" ? discovery.group(first) : undefined;
    if (group === undefined) return undefined;
    if (second === undefined) return plain(group, request);
    const list = more.length === 0 ? discovery.resourceList(first, second) : undefined;
    return list ? getOnly(request, plain(list, request)) : NOWHERE;
  };
}

const NOWHERE = statusAnswer(noSuchPathStatus());

function plain(value: ApiValue, request: ApiRequest): Answer {
  const { headers, query } = request;
  const media = negotiate({ headers, query, transforms: false });
  if (!media.ok) return statusAnswer(media.status, { media: negotiateFailure(headers, query) });
  return answer(200, { form: "value", value }, { media: media.value });
}

/** Whether the client knows the aggregated document: the more particular wish comes first. */
function wantsAggregated({ headers }: ApiRequest): boolean {
  return (headers.accept ?? "").split(",").some((clause) => {
    const [type = "", ...parameters] = clause.split(";").map((part) => part.trim());
    const given = new Map(parameters.map((p) => p.split("=") as [string, string]));
    return (
      type === "application/json" &&
      given.get("g") === "apidiscovery.k8s.io" &&
      given.get("v") === "v2" &&
      given.get("as") === "APIGroupDiscoveryList"
    );
  });
}

function aggregated(discovery: Discovery, core: boolean, request: ApiRequest): Answer {
  const text = `${encodeJson(discovery.aggregated(core))}\n`;
  const etag = `"${createHash("sha512").update(text).digest("hex").toUpperCase()}"`;
  const headers = { etag, vary: "Accept", "cache-control": "public" };
  const contentType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  if (request.headers["if-none-match"] === etag) {
    const bytes = new Uint8Array(0);
    return answer(304, { form: "bytes", contentType, bytes }, { headers, media: JSON_MEDIA });
  }
  return answer(200, { form: "bytes", contentType, bytes: Buffer.from(text) }, { headers });
}
