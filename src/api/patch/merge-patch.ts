/**
 * JSON Merge Patch (RFC 7386) as the API server applies it: null removes a member, objects merge,
 * everything else replaces. Nulls inside an added value are dropped, except below an array that
 * replaces an object.
 *
 * The document stays as it is and may be frozen; the result shares what the patch does not touch.
 */
import { badRequestStatus, failure, type Result, success } from "#api/meta/status.ts";
import { isObject, type JsonObject, member, setMember, withoutNulls } from "./json-value.ts";

export function applyMergePatch(document: JsonObject, patch: unknown): Result<JsonObject> {
  if (isObject(patch)) return success(merge(document, patch));
  if (patch === null) return failure(badRequestStatus("Invalid JSON Patch"));
  const kind = Array.isArray(patch) ? "array" : typeof patch === "boolean" ? "bool" : typeof patch;
  return failure(
    badRequestStatus(
      `error decoding patch: json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`,
    ),
  );
}

function merge(current: JsonObject, patch: JsonObject): JsonObject {
  const merged = { ...current };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setMember(merged, key, mergedValue(member(merged, key), value));
  }
  return merged;
}

function mergedValue(current: unknown, value: unknown): unknown {
  if (!isObject(current)) return withoutNulls(value);
  return isObject(value) ? merge(current, value) : value;
}
