/**
 * The first steps of a write: decode the options and the body, set defaults, and check that the body
 * is about the object that the path names. Nothing here looks at the object that is there. Bodies are
 * decoded in steps.
 */
import { type Draft, defaultSteps, type Kind, type KubeObject } from "#api/kind.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  success,
  unsupportedMediaTypeStatus,
} from "#api/meta/status.ts";
import type { MaybePromise } from "#lib/async/maybe-promise.ts";
import type { Steps } from "#lib/async/steps.ts";
import { bodyBytes } from "../request/body-bytes.ts";
import { decodeBody, expectKind } from "../request/decode-body.ts";
import { type WriteOptions, writeOptions } from "../request/query-options.ts";
import { typeMetaOf, type VerbRequest } from "../request/verb.ts";
import { mediaTypeOf } from "../response/negotiate.ts";
import { dedupeOwners, settleNamespace, wipeSystemFields } from "./object-metadata.ts";
import type { ObjectWrite, SubresourceView } from "./object-write.ts";
import type { PatchType } from "./patch-document.ts";

export const PATCH_TYPES: Readonly<Record<string, PatchType | "apply">> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

/** Custom resources have no strategic merge patch. */
const CUSTOM_PATCH_MEDIA = Object.keys(PATCH_TYPES).filter(
  (media) => PATCH_TYPES[media] !== "strategic",
);

export function* decodeCreate(verb: VerbRequest): Steps<Result<ObjectWrite>> {
  const options = writeOptions(verb.request.query, "CreateOptions");
  if (!options.ok) return options;
  const decode = (from: VerbRequest) => decodeNew(from, options.value);
  const decoded = yield* decode(verb);
  if (!decoded.ok) return decoded;
  return success({
    change: { form: "create", object: onceThenAgain(verb, decoded.value, decode) },
    options: options.value,
    mayCreate: true,
    uid: undefined,
    subresource: undefined,
  });
}

export function* decodeUpdate(
  verb: VerbRequest,
  view?: SubresourceView,
): Steps<Result<ObjectWrite>> {
  const { request, resource, info } = verb;
  const options = writeOptions(request.query, "UpdateOptions");
  if (!options.ok) return options;
  const kind = view?.kind ?? resource.kind;
  const decode = (from: VerbRequest) => decodeNext(from, kind, options.value);
  const decoded = yield* decode(verb);
  if (!decoded.ok) return decoded;
  return success({
    change: { form: "update", object: onceThenAgain(verb, decoded.value, decode) },
    options: options.value,
    mayCreate: resource.stored.kind.createOnUpdate === true && info.subresource === "",
    uid: decoded.value.metadata.uid || undefined,
    ...partOf(verb, view),
  });
}

export function decodePatch(verb: VerbRequest, view?: SubresourceView): Result<ObjectWrite> {
  const { request, info } = verb;
  const type = PATCH_TYPES[mediaTypeOf(request.headers["content-type"] ?? "")];
  if (type === undefined) return failure(badRequestStatus("unknown patch type"));
  if (type === "strategic" && verb.resource.kind.custom !== undefined && view === undefined) {
    return failure(unsupportedMediaTypeStatus(CUSTOM_PATCH_MEDIA));
  }
  const isApply = type === "apply";
  const options = writeOptions(request.query, "PatchOptions", isApply);
  if (!options.ok) return options;
  const sent = bodyBytes(request.body);
  if (!sent.ok) return sent;
  const bytes = sent.value;
  verb.sent?.();
  return success({
    change: isApply ? { form: "apply", bytes } : { form: "patch", type, bytes },
    options: options.value,
    mayCreate: isApply && info.subresource === "",
    uid: undefined,
    ...partOf(verb, view),
  });
}

/** The body must be about the object in the path. */
export function checkPlace(verb: VerbRequest, { metadata }: Draft<KubeObject>): Result<undefined> {
  const placed = settleNamespace(metadata, namespaceOf(verb));
  if (!placed.ok) return placed;
  const { name } = verb.info;
  const given = metadata.name ?? "";
  if (given === name) return success(undefined);
  return failure(
    badRequestStatus(
      given === ""
        ? `the name of the object (${name} based on URL) was undeterminable: name must be provided`
        : `the name of the object (${given}) does not match the name on the URL (${name})`,
    ),
  );
}

/** The namespace in which the request's objects are; "" for cluster-scoped ones. */
export function namespaceOf({ resource, info }: VerbRequest): string {
  return resource.kind.scope === "Namespaced" ? info.namespace : "";
}

function* decodeNew(verb: VerbRequest, options: WriteOptions): Steps<Result<Draft<KubeObject>>> {
  const decoded = yield* decodeWithDefaults(verb, verb.resource.kind, options);
  if (!decoded.ok) return decoded;
  const { metadata } = decoded.value;
  wipeSystemFields(metadata);
  const placed = settleNamespace(metadata, namespaceOf(verb));
  if (!placed.ok) return placed;
  dedupeOwners(metadata, verb.warn);
  return decoded;
}

function* decodeNext(
  verb: VerbRequest,
  kind: Kind,
  options: WriteOptions,
): Steps<Result<Draft<KubeObject>>> {
  const decoded = yield* decodeWithDefaults(verb, kind, options);
  if (!decoded.ok) return decoded;
  const placed = checkPlace(verb, decoded.value);
  if (!placed.ok) return placed;
  dedupeOwners(decoded.value.metadata, verb.warn);
  return decoded;
}

/** A body that is decoded again gives neither warnings nor an audit record a second time. */
function onceThenAgain(
  verb: VerbRequest,
  decoded: Draft<KubeObject>,
  decode: (verb: VerbRequest) => Steps<Result<Draft<KubeObject>>>,
): () => MaybePromise<Draft<KubeObject>> {
  const again = async (): Promise<Draft<KubeObject>> => {
    const { sent: _, ...quiet } = verb;
    const other = await verb.pace.run(decode({ ...quiet, warn: () => undefined }));
    if (!other.ok) throw new Error(`the same body was refused: ${other.status.message}`);
    return other.value;
  };
  let first: Draft<KubeObject> | undefined = decoded;
  return () => {
    const object = first;
    first = undefined;
    return object ?? again();
  };
}

function* decodeWithDefaults(
  verb: VerbRequest,
  kind: Kind,
  { fieldValidation }: WriteOptions,
): Steps<Result<Draft<KubeObject>>> {
  const { request, warn } = verb;
  const decoded = yield* decodeBody(request, expectKind(kind), fieldValidation, warn);
  if (decoded.ok) yield* setDefaults(verb, kind, decoded.value);
  return decoded;
}

function* setDefaults(verb: VerbRequest, kind: Kind, object: Draft<KubeObject>): Steps<void> {
  yield* defaultSteps(kind, object);
  verb.sent?.({ ...typeMetaOf(kind), ...object });
}

/** What part of the object the path names. */
function partOf(
  { resource, info }: VerbRequest,
  view: SubresourceView | undefined,
): Pick<ObjectWrite, "subresource" | "view"> {
  if (view !== undefined) return { subresource: undefined, view };
  const { subresources } = resource.stored.kind;
  return { subresource: info.subresource === "" ? undefined : subresources?.[info.subresource] };
}
