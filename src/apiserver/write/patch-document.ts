/** Applies a patch to the current object and reads the outcome back as an object of its kind. */

import { type Decoded, normalizeSteps, parseJsonSteps } from "#api/codec/json.ts";
import { findJsonExcess, JSON_LIST_OBJECTS_MAX } from "#api/codec/json-limits.ts";
import { TOO_DEEP } from "#api/codec/json-syntax.ts";
import { type Draft, defaultSteps, type Kind, type KubeObject } from "#api/kind.ts";
import { membersOf } from "#api/members.ts";
import {
  badRequestStatus,
  failure,
  invalidStatus,
  type Result,
  requestTooLargeStatus,
  success,
  unprocessableStatus,
} from "#api/meta/status.ts";
import { applyJsonPatch, jsonPatchOperations, unknownPatchFields } from "#api/patch/json-patch.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import { applyMergePatch } from "#api/patch/merge-patch.ts";
import { applyStrategicMergePatch } from "#api/patch/strategic-merge.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import { invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { unknownFields } from "../request/decode-body.ts";
import { internalPackageOf } from "../request/internal-package.ts";
import type { WriteOptions } from "../request/query-options.ts";
import { strictWarnings } from "../request/strict-warnings.ts";
import type { VerbRequest } from "../request/verb.ts";
import { goMapText, patchedText } from "./patched-text.ts";
import { restoreError } from "./restore-error.ts";

export type PatchType = "json" | "merge" | "strategic";

/** A JSON patch is itself a list of objects: 10,000 operations and what they add. */
const PATCH_OBJECTS_MAX = 2 * JSON_LIST_OBJECTS_MAX;

/** In the request's version; `current` stays as it is. */
export async function patchDocument(
  type: PatchType,
  current: KubeObject,
  bytes: Uint8Array,
  kind: Kind,
  { fieldValidation }: WriteOptions,
  { warn, pace }: Pick<VerbRequest, "warn" | "pace">,
): Promise<Result<Draft<KubeObject>>> {
  const excess = findJsonExcess(bytes, type === "json" ? PATCH_OBJECTS_MAX : undefined);
  if (excess !== undefined) return failure(requestTooLargeStatus(excess));
  const parsed = await pace.run(parseJsonSteps(bytes));
  if (!parsed.ok) {
    return failure(badRequestStatus(unreadablePatch(type, parsed.error)));
  }
  const patch = parsed.value;
  if (pace.isDue) await pace.rest();
  const applied = applyPatch(type, membersOf(current), patch, kind);
  if (!applied.ok) return applied;
  if (pace.isDue) await pace.rest();
  const { document, patchErrors } = applied.value;
  // Upstream has custom resources as maps, whose keys are always sorted.
  const writtenParts = kind.custom === undefined ? [current] : [];
  const shown = (): string =>
    type === "strategic" ? goMapText(patch) : patchedText(document, ...writtenParts, patch);
  const refuse = (error: string): Result<never> =>
    failure(
      invalidStatus({ group: "", kind: "" }, "", [invalid(Path.of("patch"), shown(), error)]),
    );

  const decoded = await pace.run(
    type === "strategic" ? normalizeSteps(kind.schema(), document) : decodePatched(document, kind),
  );
  if (!decoded.ok) {
    return refuse(type === "strategic" ? restoreError(decoded.error) : decoded.error);
  }
  if (pace.isDue) await pace.rest();
  const { kind: _, apiVersion: __, ...rest } = decoded.value;
  const { apiVersion } = kind;
  const members = { kind: kind.names.kind, apiVersion, metadata: {}, ...rest };
  const draft = members as Draft<KubeObject>;
  const pruned = kind.custom === undefined ? [] : await pace.run(kind.custom.prune(draft));
  const unknown = unknownFields(pruned);
  const strictErrors = [...parsed.duplicates, ...patchErrors, ...decoded.strictErrors, ...unknown];
  if (strictErrors.length > 0 && fieldValidation === "Strict") {
    return refuse(`strict decoding error: ${strictErrors.join(", ")}`);
  }
  if (fieldValidation === "Warn") for (const text of strictWarnings(strictErrors)) warn(text);
  await pace.run(defaultSteps(kind, draft));
  return success(draft);
}

interface Applied {
  readonly document: unknown;
  /** Faults of the patch itself that strictness minds. */
  readonly patchErrors: readonly string[];
}

function applyPatch(
  type: PatchType,
  current: JsonObject,
  patch: unknown,
  kind: Kind,
): Result<Applied> {
  if (type === "json") {
    const operations = jsonPatchOperations(patch);
    if (!operations.ok) return operations;
    const patched = applyJsonPatch(current, operations.value);
    if (!patched.ok) return failure(unprocessableStatus());
    const patchErrors = unknownPatchFields(operations.value).map(
      (field) => `json patch unknown field "${field}"`,
    );
    return success({ document: patched.value, patchErrors });
  }
  if (type === "merge") {
    if (patch !== null && !isObject(patch)) return failure(badRequestStatus(notAMap(patch)));
    const merged = applyMergePatch(current, patch);
    return merged.ok ? success({ document: merged.value, patchErrors: [] }) : merged;
  }
  if (patch !== null && !isObject(patch)) return failure(badRequestStatus(notAMap(patch, "")));
  const merged = applyStrategicMergePatch(current, patch ?? {}, kind.schema());
  return merged.ok ? success({ document: merged.value, patchErrors: [] }) : merged;
}

/** Text that is nested too deeply fails later than other errors, with another message. */
function unreadablePatch(type: PatchType, error: string): string {
  if (type === "strategic") return error;
  if (!error.endsWith(TOO_DEEP)) return `error decoding patch: ${error}`;
  return type === "merge" ? "Invalid JSON Patch" : error;
}

function notAMap(patch: unknown, prefix = "error decoding patch: "): string {
  const type = Array.isArray(patch) ? "array" : typeof patch === "boolean" ? "bool" : typeof patch;
  return `${prefix}json: cannot unmarshal ${type} into Go value of type map[string]interface {}`;
}

/** A patch may have turned the object into one of another kind: then that one's type decides. */
function* decodePatched(document: unknown, kind: Kind): Steps<Decoded> {
  const said = (isObject(document) ? document : {}) as { kind?: unknown; apiVersion?: unknown };
  const saidKind = String(said.kind || kind.names.kind);
  const apiVersion = String(said.apiVersion || kind.apiVersion);
  if (saidKind === kind.names.kind && apiVersion === kind.apiVersion) {
    return yield* normalizeSteps(kind.schema(), document);
  }
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const schema = findSchemaOfKind(group, apiVersion.slice(slash + 1), saidKind);
  if (schema === undefined) {
    const error = `no kind "${saidKind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`;
    return { ok: false, error };
  }
  const decoded = yield* normalizeSteps(schema, document);
  if (!decoded.ok) return decoded;
  const target = `${internalPackageOf(kind.schema())}.${kind.names.kind}`;
  return { ok: false, error: `converting (${schema.goType}) to (${target}): unknown conversion` };
}
