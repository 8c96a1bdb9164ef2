/** /api, /apis and the documents below them. */
import { createHash } from "node:crypto";
import { encodeJson } from "#api/codec/json.ts";
import { type Answer, type ApiValue, answer, statusAnswer } from "../answer.ts";
import type { Discovery } from "../discovery.ts";
import type { PathHandler } from "../handler.ts";
import { JSON_MEDIA, negotiate } from "../negotiate.ts";
import type { ApiRequest } from "../request.ts";

export function discoveryPaths(discovery: Discovery, serverAddress: string): PathHandler {
  return (request, info) => {
    if (info.isResource || request.method !== "GET") return undefined;
    const path = request.path.replace(/\/$/, "");
    if (path === "/api" || path === "/apis") {
      const asked = aggregatedVersion(request.headers.accept ?? "");
      if (asked !== undefined) return aggregated(discovery, path === "/api", asked, request);
      return plain(
        path === "/api" ? discovery.coreVersions(serverAddress) : discovery.groupList(),
        request,
      );
    }
    const [, root, first = "", second, more] = path.split("/");
    if (more !== undefined) return undefined;
    if (root === "api" && second === undefined) {
      return plain(discovery.resourceList("", first), request);
    }
    if (root !== "apis") return undefined;
    return plain(
      second === undefined ? discovery.group(first) : discovery.resourceList(first, second),
      request,
    );
  };
}

function plain(value: ApiValue | undefined, request: ApiRequest): Answer | undefined {
  if (value === undefined) return undefined;
  const { headers, query } = request;
  const media = negotiate({ headers, query, transforms: false });
  if (!media.ok) return statusAnswer(media.status);
  return answer(200, { form: "value", value }, { media: media.value });
}

type Aggregated = "v2" | "v2beta1";

/** The version of the aggregated document that the client likes better than a plain one. */
function aggregatedVersion(accept: string): Aggregated | undefined {
  for (const clause of accept.split(",")) {
    const [type = "", ...parameters] = clause.split(";").map((part) => part.trim());
    const given = new Map(parameters.map((p) => p.split("=") as [string, string]));
    const version = given.get("v");
    const isOurs =
      given.get("g") === "apidiscovery.k8s.io" && given.get("as") === "APIGroupDiscoveryList";
    if (type === "application/json" && isOurs && (version === "v2" || version === "v2beta1")) {
      return version;
    }
    if (type === "application/json" && given.get("as") === undefined) return undefined;
  }
  return undefined;
}

function aggregated(
  discovery: Discovery,
  core: boolean,
  version: Aggregated,
  request: ApiRequest,
): Answer {
  const text = `${encodeJson(discovery.aggregated(core, version))}\n`;
  const etag = `"${createHash("sha512").update(text).digest("hex").toUpperCase()}"`;
  const headers = { etag, vary: "Accept", "cache-control": "public" };
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  if (request.headers["if-none-match"] === etag) {
    const bytes = new Uint8Array(0);
    return answer(304, { form: "bytes", contentType, bytes }, { headers, media: JSON_MEDIA });
  }
  return answer(200, { form: "bytes", contentType, bytes: Buffer.from(text) }, { headers });
}
