/**
 * Decodes a request body into an object of the expected kind, in its normal form. Errors have the
 * text of upstream's decoder, because users and tests match on them.
 */

import { decodeJsonSteps, normalizeSteps, parseJson, QUICK_BYTES_MAX } from "#api/codec/json.ts";
import { findJsonExcess, JSON_LIST_OBJECTS_MAX, JSON_VALUES_MAX } from "#api/codec/json-limits.ts";
import { decodeProtobuf, readEnvelope } from "#api/codec/protobuf.ts";
import type { Draft, Kind, KubeObject } from "#api/kind.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import {
  badRequestStatus,
  failure,
  type Result,
  requestTooLargeStatus,
  success,
  unsupportedMediaTypeStatus,
} from "#api/meta/status.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import type { Steps } from "#lib/async/steps.ts";
import { bodyEncoding, MEDIA_TYPES } from "../response/negotiate.ts";
import { bodyBytes, bodyYaml } from "./body-bytes.ts";
import { internalPackageOf } from "./internal-package.ts";
import type { FieldValidation } from "./query-options.ts";
import type { ApiRequest, RequestBody } from "./request.ts";
import { strictWarnings } from "./strict-warnings.ts";
import { isUnservedVersion } from "./unserved-versions.ts";

export interface BodyExpectation {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  readonly schema: StructSchema;
  /** Other versions of the group in which the kind looks the same. */
  readonly alsoVersions?: readonly string[];
  readonly unreadable?: (object: KubeObject) => string | undefined;
  /** Removes unknown fields that the decoder lets pass; returns their paths. */
  readonly prune?: (object: Draft<KubeObject>) => Steps<readonly string[]>;
}

export function expectKind(kind: Kind): BodyExpectation {
  return {
    kind: kind.names.kind,
    group: kind.group,
    version: kind.version,
    schema: kind.schema(),
    ...(kind.unreadable === undefined ? {} : { unreadable: kind.unreadable }),
    ...(kind.custom === undefined ? {} : { prune: kind.custom.prune }),
  };
}

/** In steps: large bodies take long. */
export function* decodeBody(
  request: Pick<ApiRequest, "headers" | "body">,
  expected: BodyExpectation,
  fieldValidation: FieldValidation,
  warn: (text: string) => void,
): Steps<Result<Draft<KubeObject>>> {
  const decoded = yield* decodeAny(request, expected);
  if (!decoded.ok) return decoded;
  const { value, strictErrors } = decoded.value;
  if (strictErrors.length > 0 && fieldValidation === "Strict") {
    const error = `strict decoding error: ${strictErrors.join(", ")}`;
    return failure(
      badRequestStatus(cannotBeHandled(expected, expected.kind, expected.version, error)),
    );
  }
  if (fieldValidation === "Warn") for (const text of strictWarnings(strictErrors)) warn(text);
  return success(value);
}

interface DecodedBody {
  readonly value: Draft<KubeObject>;
  readonly strictErrors: readonly string[];
}

function* decodeAny(
  { headers, body }: Pick<ApiRequest, "headers" | "body">,
  expected: BodyExpectation,
): Steps<Result<DecodedBody>> {
  if (body.form === "object") return yield* decodeValue(body.object, expected);
  const encoding = bodyEncoding(headers);
  if (encoding === undefined) {
    return failure(unsupportedMediaTypeStatus(Object.values(MEDIA_TYPES)));
  }
  const sent = bodyBytes(body);
  if (!sent.ok) return sent;
  const bytes = sent.value;
  if (encoding === "protobuf") return yield* decodeProtobufBody(bytes, expected);
  return encoding === "yaml"
    ? yield* decodeYamlBody(body, bytes, expected)
    : yield* decodeJsonBody(bytes, expected);
}

function* decodeValue(object: unknown, expected: BodyExpectation): Steps<Result<DecodedBody>> {
  const normal = yield* normalizeSteps(expected.schema, object);
  if (!normal.ok) return failure(badRequestStatus(normal.error));
  return yield* finished(normal.value, normal.strictErrors, expected);
}

function* decodeYamlBody(
  body: RequestBody,
  bytes: Uint8Array,
  expected: BodyExpectation,
): Steps<Result<DecodedBody>> {
  const json = bodyYaml(body, bytes);
  if (!json.ok) return failure(badRequestStatus(unrecognized(json.error, bytes, expected)));
  yield;
  const decoded = yield* decodeJsonBody(Buffer.from(json.json), expected, bytes);
  if (!decoded.ok || json.strictErrors.length === 0) return decoded;
  const strictErrors = [...json.strictErrors, ...decoded.value.strictErrors];
  return success({ ...decoded.value, strictErrors });
}

const PROTOBUF_LIMITS = { values: JSON_VALUES_MAX, listObjects: JSON_LIST_OBJECTS_MAX };

function* decodeProtobufBody(
  bytes: Uint8Array,
  expected: BodyExpectation,
): Steps<Result<DecodedBody>> {
  const envelope = readEnvelope(bytes);
  if (!envelope.ok) {
    return failure(badRequestStatus(unrecognized(envelope.error, bytes, expected)));
  }
  const fault = kindFault(envelope.kind, envelope.apiVersion, expected);
  if (fault !== undefined) return failure(badRequestStatus(fault));
  const decoded = decodeProtobuf(expected.schema, envelope.message, PROTOBUF_LIMITS);
  if (!decoded.ok && decoded.isExcess) return failure(requestTooLargeStatus(decoded.error));
  if (decoded.ok) return yield* finished(decoded.value, decoded.strictErrors, expected);
  const { kind, version } = expected;
  return failure(badRequestStatus(cannotBeHandled(expected, kind, version, decoded.error)));
}

/** `sent`: what the client sent, if that was not JSON itself. */
function* decodeJsonBody(
  bytes: Uint8Array,
  expected: BodyExpectation,
  sent = bytes,
): Steps<Result<DecodedBody>> {
  const excess = findJsonExcess(bytes);
  if (excess !== undefined) return failure(requestTooLargeStatus(excess));
  if (bytes.length > QUICK_BYTES_MAX) yield;
  const decoded = yield* decodeJsonSteps(expected.schema, bytes);
  if (decoded.ok) {
    const { kind, apiVersion } = decoded.value as { kind?: string; apiVersion?: string };
    const plain =
      (kind === undefined || kind === expected.kind) &&
      (apiVersion === undefined || apiVersion === apiVersionOf(expected));
    if (plain) return yield* finished(decoded.value, decoded.strictErrors, expected);
  }
  const fault = typeFault(bytes, sent, expected);
  if (fault !== undefined) return failure(badRequestStatus(fault));
  if (decoded.ok) return yield* finished(decoded.value, decoded.strictErrors, expected);
  const { kind, version } = saidType(bytes, expected);
  return failure(badRequestStatus(cannotBeHandled(expected, kind, version, decoded.error)));
}

/** An object without kind and apiVersion gets the expected ones. */
function* finished(
  value: Record<string, unknown>,
  strictErrors: readonly string[],
  expected: BodyExpectation,
): Steps<Result<DecodedBody>> {
  const { kind: _, apiVersion: __, metadata, ...rest } = value;
  const object = {
    kind: expected.kind,
    apiVersion: apiVersionOf(expected),
    metadata: metadata ?? {},
    ...rest,
  };
  const fault = expected.unreadable?.(object as KubeObject);
  if (fault !== undefined) {
    const message = cannotBeHandled(expected, expected.kind, expected.version, fault);
    return failure(badRequestStatus(message));
  }
  const draft = object as Draft<KubeObject>;
  if (expected.prune === undefined) return success({ value: draft, strictErrors });
  yield;
  const unknown = yield* expected.prune(draft);
  if (unknown.length === 0) return success({ value: draft, strictErrors });
  return success({ value: draft, strictErrors: [...strictErrors, ...unknownFields(unknown)] });
}

export function unknownFields(paths: readonly string[]): string[] {
  return paths.map((path) => `unknown field ${goQuote(path)}`);
}

function saidType(
  bytes: Uint8Array,
  expected: BodyExpectation,
): { kind: string; group: string; version: string } {
  const parsed = parseJson(bytes);
  const said = (parsed.ok ? parsed.value : {}) as { kind?: string; apiVersion?: string } | null;
  const [group = "", version = ""] = splitApiVersion(said?.apiVersion ?? apiVersionOf(expected));
  return { kind: said?.kind || expected.kind, group, version };
}

/** The error in the body's kind and apiVersion; undefined if they are right. */
function typeFault(
  bytes: Uint8Array,
  sent: Uint8Array,
  expected: BodyExpectation,
): string | undefined {
  const parsed = parseJson(bytes);
  const untyped = (error: string): string =>
    unrecognized(`couldn't get version/kind; json parse error: ${error}`, sent, expected);
  if (!parsed.ok) return untyped(parsed.error);
  const { value } = parsed;
  if (value === null) return undefined;
  if (typeof value !== "object" || Array.isArray(value)) {
    return untyped(
      `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${TYPE_META}`,
    );
  }
  const { kind, apiVersion } = value as { kind?: unknown; apiVersion?: unknown };
  for (const [name, said] of Object.entries({ apiVersion, kind })) {
    if (said === undefined || said === null || typeof said === "string") continue;
    return untyped(
      `json: cannot unmarshal ${jsonTypeOf(said)} into Go struct field .${name} of type string`,
    );
  }
  return kindFault((kind as string | null) ?? "", (apiVersion as string | null) ?? "", expected);
}

function kindFault(
  saidKind: string,
  saidApiVersion: string,
  expected: BodyExpectation,
): string | undefined {
  if (saidApiVersion.split("/").length > 2) {
    const error = `unexpected GroupVersion string: ${saidApiVersion}`;
    return `the object provided is unrecognized (must be of type ${expected.kind}): ${error}`;
  }
  const kind = saidKind || expected.kind;
  const apiVersion = saidApiVersion || apiVersionOf(expected);
  if (kind === expected.kind && apiVersion === apiVersionOf(expected)) return undefined;
  const [group, version] = splitApiVersion(apiVersion);
  const isAlias = kind === expected.kind && group === expected.group;
  if (isAlias && expected.alsoVersions?.includes(version)) return undefined;
  const isOld = kind === expected.kind && isUnservedVersion(apiVersion, kind, expected.group);
  if (isOld) return otherVersion(apiVersion, expected);
  const elsewhere = SCHEMES[expected.group] !== undefined && group !== expected.group;
  const schema = elsewhere ? undefined : findSchemaOfKind(group, version, kind);
  if (schema === undefined) {
    const error = `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme "${schemeOf(expected.group)}"`;
    return cannotBeHandled(expected, kind, version, error);
  }
  if (kind !== expected.kind || group !== expected.group) {
    const target = `${internalPackageOf(expected.schema)}.${expected.kind}`;
    const error = `converting (${schema.goType}) to (${target}): unknown conversion`;
    return cannotBeHandled(expected, kind, version, error);
  }
  return otherVersion(apiVersion, expected);
}

function otherVersion(apiVersion: string, expected: BodyExpectation): string {
  return `the API version in the data (${apiVersion}) does not match the expected API version (${apiVersionOf(expected)})`;
}

function unrecognized(error: string, sent: Uint8Array, expected: BodyExpectation): string {
  return `the object provided is unrecognized (must be of type ${expected.kind}): ${error} (${summary(sent)})`;
}

function cannotBeHandled(
  expected: BodyExpectation,
  kind: string,
  version: string,
  error: string,
): string {
  return `${kind} in version ${goQuote(version)} cannot be handled as a ${expected.kind}: ${error}`;
}

function apiVersionOf({ group, version }: BodyExpectation): string {
  return group === "" ? version : `${group}/${version}`;
}

function splitApiVersion(apiVersion: string): [group: string, version: string] {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
}

/** What upstream looks at first in any body. */
export const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}

const SUMMARY_BYTES_MAX = 30;

function summary(bytes: Uint8Array): string {
  if (bytes.length === 0) return "<empty>";
  const head = Buffer.from(bytes.subarray(0, SUMMARY_BYTES_MAX));
  const text = bytes[0] === 0x7b ? head.toString() : head.toString("hex");
  return bytes.length > SUMMARY_BYTES_MAX ? `${text} ...` : text;
}

/** Upstream has a registry of kinds in each of its servers, and names them by where they are made. */
function schemeOf(group: string): string {
  return SCHEMES[group] ?? "pkg/api/legacyscheme/scheme.go:30";
}

const SCHEMES: Readonly<Record<string, string>> = {
  "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28",
  "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
};
