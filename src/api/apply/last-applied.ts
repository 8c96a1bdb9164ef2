/**
 * The annotation in which client-side apply keeps what it applied. kubectl moves from client-side to
 * server-side apply without conflicts over fields that it applied before and that did not change since,
 * and the annotation follows as long as it is there.
 */

import { goMapJson } from "#api/meta/go-json.ts";
import { isObject, type JsonObject } from "#api/patch/json-value.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import { parseForeignJson } from "#lib/json/forged-keys.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { compareObjects } from "./compare.ts";
import { difference, isEmptySet } from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import { metadataOf } from "./managed-object.ts";
import type { Conflict } from "./ownership.ts";
import { appliedFault } from "./validate.ts";

const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration";
const ANNOTATIONS_BYTES_MAX = 256 * 1024;

type Forgive = (conflicts: readonly Conflict[]) => readonly Conflict[];

/** Takes away the conflicts that client-side apply allows; undefined if it has left no word. */
export function allowedByLastApplied(
  live: JsonObject,
  schema: StructSchema,
  apiVersion: string,
): Forgive | undefined {
  const last = parsed(annotationsOf(live)[ANNOTATION]);
  if (last === undefined || last.apiVersion !== apiVersion) return undefined;
  if (appliedFault(last, schema) !== undefined) return undefined;
  const { changed, removed } = compareObjects(last, live, schema);
  const allowed = difference(difference(fieldsOf(last, schema), changed), removed);
  return (conflicts) =>
    conflicts.flatMap(({ manager, fields }) => {
      const left = difference(fields, allowed);
      return isEmptySet(left) ? [] : [{ manager, fields: left }];
    });
}

/** The object with the annotation brought up to date, if it has one. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  if (typeof annotations[ANNOTATION] !== "string" || annotations[ANNOTATION] === "") return object;
  const updated: Record<string, unknown> = {
    ...annotations,
    [ANNOTATION]: `${goMapJson(withoutAnnotation(applied))}\n`,
  };
  const bytes = Object.entries(updated).reduce(
    (sum, [key, value]) => sum + utf8Length(key) + utf8Length(String(value)),
    0,
  );
  if (bytes > ANNOTATIONS_BYTES_MAX) delete updated[ANNOTATION];
  return { ...object, metadata: { ...metadataOf(object), annotations: updated } };
}

function annotationsOf(object: JsonObject): JsonObject {
  const { annotations } = metadataOf(object);
  return isObject(annotations) ? annotations : {};
}

function parsed(text: unknown): JsonObject | undefined {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = parseForeignJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function withoutAnnotation(applied: JsonObject): JsonObject {
  const { annotations } = metadataOf(applied);
  if (!isObject(annotations)) return applied;
  const { [ANNOTATION]: _, ...rest } = annotations;
  return { ...applied, metadata: { ...metadataOf(applied), annotations: rest } };
}
