/** /api, /apis and the documents below them. */
import { noSuchPathStatus } from "#api/meta/status.ts";
import { getOnly } from "../paths/get-only.ts";
import type { PathHandler } from "../request/handler.ts";
import type { ApiRequest } from "../request/request.ts";
import { type Answer, type ApiValue, answer, statusAnswer } from "../response/answer.ts";
import { encodeValue } from "../response/encode-answer.ts";
import {
  MEDIA_TYPES,
  negotiate,
  negotiateDocument,
  negotiateFailure,
} from "../response/negotiate.ts";
import type { Discovery } from "./discovery.ts";

export function discoveryPaths(discovery: Discovery, serverAddress: string): PathHandler {
  const core = (request: ApiRequest): Answer => {
    const all = aggregated(discovery, true, request);
    return all ?? plain(discovery.coreVersions(serverAddress), request);
  };
  const groups = (request: ApiRequest): Answer => {
    // The path with a slash at its end never learnt it.
    const all = request.path === "/apis" ? aggregated(discovery, false, request) : undefined;
    return all ?? plain(discovery.groupList(), request);
  };
  // Group lists are served to every HTTP method, as upstream does; the others only to GET.
  return (request) => {
    const path = request.path.replace(/\/$/, "");
    if (path === "/api") return getOnly(request, core(request));
    if (path === "/apis") return groups(request);
    const [, root, first = "", second, ...more] = path.split("/");
    if (root === "api") {
      const list = second === undefined ? discovery.resourceList("", first) : undefined;
      return list ? getOnly(request, plain(list, request)) : nowhere(request);
    }
    const group = root === "apis" ? discovery.group(first) : undefined;
    if (group === undefined) return undefined;
    if (second === undefined) return plain(group, request);
    const list = more.length === 0 ? discovery.resourceList(first, second) : undefined;
    return list ? getOnly(request, plain(list, request)) : nowhere(request);
  };
}

function nowhere({ headers, query }: ApiRequest): Answer {
  return statusAnswer(noSuchPathStatus(), { media: negotiateFailure(headers, query) });
}

function plain(value: ApiValue, request: ApiRequest): Answer {
  const { headers, query } = request;
  const media = negotiate({ headers, query, transforms: false });
  if (!media.ok) return statusAnswer(media.status, { media: negotiateFailure(headers, query) });
  return answer(200, { form: "value", value }, { media: media.value });
}

const AGGREGATED = { group: "apidiscovery.k8s.io", version: "v2", kind: "APIGroupDiscoveryList" };
const AGGREGATED_PARAMETERS = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** What the client gets who knows the aggregated document; undefined for one who does not. */
function aggregated(
  discovery: Discovery,
  core: boolean,
  { headers: asked, query }: ApiRequest,
): Answer | undefined {
  const media = negotiateDocument(asked, query, AGGREGATED);
  if (media === undefined) return undefined;
  const { value, hash } = discovery.aggregated(core);
  const etag = `"${hash}"`;
  const headers = { etag, vary: "Accept", "cache-control": "public" };
  const contentType = `${MEDIA_TYPES[media.encoding]};${AGGREGATED_PARAMETERS}`;
  if (asked["if-none-match"] === etag) {
    return answer(304, { form: "bytes", contentType: "", bytes: NOTHING }, { headers });
  }
  return answer(200, { form: "bytes", contentType, bytes: encodeValue(value, media) }, { headers });
}

const NOTHING = new Uint8Array(0);
