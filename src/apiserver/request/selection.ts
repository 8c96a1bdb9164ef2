/** Which objects of a collection a request is about: its namespace, name, labels and fields. */
import { normalize } from "#api/codec/json.ts";
import type { Kind } from "#api/kind.ts";
import { objectOf } from "#api/members.ts";
import {
  exactField,
  type FieldSelector,
  matchesFields,
  parseFieldSelector,
  unknownFieldText,
  unsupportedFieldText,
} from "#api/meta/field-selector.ts";
import { matchesLabels, parseSelector, type Selector } from "#api/meta/label-selector.ts";
import { badRequestStatus, failure, type Result, success } from "#api/meta/status.ts";
import { keyOf, type ServedResource } from "../storage/resources.ts";
import type { Revision } from "../storage/revision.ts";
import type { Trigger } from "../watch/resource-cache.ts";
import type { ListOptions } from "./query-options.ts";

export interface Selection {
  /** Keys of the collection begin with it. */
  readonly prefix: string;
  /** Undefined: everything under the prefix. */
  readonly matches: ((revision: Revision) => boolean) | undefined;
  /** The one key that can match, when the request is about one name. */
  readonly only: string | undefined;
  readonly trigger: Trigger | undefined;
}

/** `name`: of a request for one object that is served as a collection (old-style watches). */
export function select(
  resource: ServedResource,
  namespace: string,
  options: Pick<ListOptions, "labelSelector" | "fieldSelector">,
  name = "",
): Result<Selection> {
  const labels = parseSelector(options.labelSelector);
  if (!labels.ok) return failure(badRequestStatus(labels.error));
  const fields = parseFields(resource.kind, options.fieldSelector);
  if (!fields.ok) return fields;
  const namedBySelector = exactField(fields.value, "metadata.name");
  if (name !== "" && namedBySelector !== undefined && namedBySelector !== name) {
    const message = "fieldSelector metadata.name doesn't match requested name";
    return failure(badRequestStatus(message));
  }
  const { stored } = resource;
  const one = name || namedBySelector || "";
  const inNamespace = namespace || (exactField(fields.value, "metadata.namespace") ?? "");
  const namespaced = stored.kind.scope === "Namespaced";
  const prefix = namespaced && inNamespace !== "" ? keyOf(stored, inNamespace, "") : stored.prefix;
  const selective = isSelective(labels.value) || fields.value.length > 0 || name !== "";
  return success({
    prefix,
    matches: selective ? matcher(resource.kind, labels.value, fields.value, name) : undefined,
    only: one !== "" && (!namespaced || inNamespace !== "") ? prefix + one : undefined,
    trigger: triggerOf(stored.kind, fields.value, one, namespaced ? inNamespace : ""),
  });
}

function isSelective(labels: Selector): boolean {
  return labels === "nothing" || labels.length > 0;
}

function matcher(
  kind: Kind,
  labels: Selector,
  fields: FieldSelector,
  name: string,
): (revision: Revision) => boolean {
  const byLabel = isSelective(labels);
  return (revision) => {
    const { metadata } = revision.value;
    if (name !== "" && metadata.name !== name) return false;
    if (byLabel && !matchesLabels(labels, metadata.labels)) return false;
    if (fields.length === 0) return true;
    return matchesFields(fields, fieldsOf(kind, revision));
  };
}

function fieldsOf(kind: Kind, revision: Revision): Readonly<Record<string, string>> {
  const { value } = kind.selectableFields === undefined ? revision : revision.as(kind);
  const { name = "", namespace = "" } = value.metadata;
  const own = kind.selectableFields?.(value);
  return { ...own, "metadata.name": name, "metadata.namespace": namespace };
}

function parseFields(kind: Kind, text: string): Result<FieldSelector> {
  const parsed = parseFieldSelector(text);
  if (!parsed.ok) return failure(badRequestStatus(parsed.error));
  const known = selectableNames(kind);
  for (const { field } of parsed.value) {
    if (field === "metadata.name" || known.has(field)) continue;
    if (field === "metadata.namespace" && mayHaveNamespace(kind)) continue;
    return failure(badRequestStatus(fieldFault(kind, field)));
  }
  return success(parsed.value);
}

/** Kinds with fields of their own know what they are without. */
function mayHaveNamespace({ scope, selectableFields }: Kind): boolean {
  return scope === "Namespaced" || selectableFields === undefined;
}

function fieldFault(kind: Kind, field: string): string {
  if (kind.selectableFields === undefined) return unknownFieldText(field);
  return kind.unsupportedFieldText?.(field, kind.apiVersion) ?? unsupportedFieldText(field);
}

/** The names that a kind's selectable fields have on an object with nothing in it. */
function selectableNames(kind: Kind): ReadonlySet<string> {
  if (kind.selectableFields === undefined) return NONE;
  const known = names.get(kind);
  if (known !== undefined) return known;
  const empty = normalize(kind.schema(), { metadata: {} });
  const object = objectOf(empty.ok ? empty.value : { metadata: {} });
  const found: ReadonlySet<string> = new Set(Object.keys(kind.selectableFields(object)));
  names.set(kind, found);
  return found;
}

const NONE: ReadonlySet<string> = new Set();
const names = new WeakMap<Kind, ReadonlySet<string>>();

/** The most selective field that the watchers of a resource can be looked up by. */
function triggerOf(
  { triggerField }: Kind,
  fields: FieldSelector,
  name: string,
  namespace: string,
): Trigger | undefined {
  if (name !== "") return { field: "metadata.name", value: name };
  const value = triggerField && exactField(fields, triggerField);
  if (triggerField !== undefined && value !== undefined) return { field: triggerField, value };
  return namespace === "" ? undefined : { field: "metadata.namespace", value: namespace };
}
