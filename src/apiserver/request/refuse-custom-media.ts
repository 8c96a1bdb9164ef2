/** What custom resources do not speak: strategic merge patches, and protobuf of the objects themselves. */
import type { Status } from "#api/generated/meta.v1.ts";
import { notAcceptableStatus, unsupportedMediaTypeStatus } from "#api/meta/status.ts";
import { bodyEncoding, MEDIA_TYPES, type Media, mediaTypeOf } from "../response/negotiate.ts";
import type { ApiRequest, RequestInfo } from "./request.ts";

const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/apply-patch+yaml",
];
const OBJECT_TYPES = [MEDIA_TYPES.json, MEDIA_TYPES.yaml];

/** Undefined: nothing of that was asked for. A Scale is no custom resource, whatever it is the scale of. */
export function refuseCustomMedia(
  { headers }: ApiRequest,
  { verb, subresource }: RequestInfo,
  media: Media,
): Status | undefined {
  if (verb === "patch" && !PATCH_TYPES.includes(mediaTypeOf(headers["content-type"] ?? ""))) {
    return unsupportedMediaTypeStatus(PATCH_TYPES);
  }
  if (subresource === "scale") return undefined;
  if ((verb === "create" || verb === "update") && bodyEncoding(headers) === "protobuf") {
    return unsupportedMediaTypeStatus(OBJECT_TYPES);
  }
  const isWhole = media.as === undefined && verb !== "delete" && verb !== "deletecollection";
  return isWhole && media.encoding === "protobuf" ? notAcceptableStatus(OBJECT_TYPES) : undefined;
}
