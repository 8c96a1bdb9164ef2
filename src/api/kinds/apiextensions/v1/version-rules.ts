/** The parts of a definition that each version may have for itself: columns, subresources, … */
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionNames,
  CustomResourceSubresources,
  JSONSchemaProps,
  SelectableField,
} from "#api/generated/apiextensions.v1.ts";
import {
  duplicate,
  type FieldError,
  invalid,
  required,
  tooMany,
} from "#api/validation/field-error.ts";
import { isDns1035Label } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import { resolveFieldPath } from "../json-schema/field-path.ts";

const COLUMN_TYPES = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS = "byte,date,date-time,double,float,int32,int64,password".split(",");
const WARNING_BYTES_MAX = 256;
export const SELECTABLE_FIELDS_MAX = 8;
const SELECTABLE_TYPES = ["string", "boolean", "integer"];

export function validateNames(names: CustomResourceDefinitionNames, path: Path): FieldError[] {
  const { plural = "", singular = "", kind = "", listKind = "" } = names;
  const { shortNames = [], categories = [] } = names;
  const errors: FieldError[] = [];
  const label = (text: string, at: Path) => {
    const faults = isDns1035Label(text);
    if (faults.length > 0) errors.push(invalid(at, text, faults.join(",")));
  };
  const mixedCase = (text: string, at: Path) => {
    const faults = isDns1035Label(text.toLowerCase());
    if (faults.length === 0) return;
    const detail = `may have mixed case, but should otherwise match: ${faults.join(",")}`;
    errors.push(invalid(at, text, detail));
  };
  if (plural !== "") label(plural, path.child("plural"));
  if (singular !== "") label(singular, path.child("singular"));
  if (kind !== "") mixedCase(kind, path.child("kind"));
  if (listKind !== "") mixedCase(listKind, path.child("listKind"));
  for (const [i, name] of shortNames.entries()) label(name, path.child("shortNames").index(i));
  if (kind !== "" && kind === listKind) {
    const detail = "kind and listKind may not be the same";
    errors.push(invalid(path.child("listKind"), listKind, detail));
  }
  for (const [i, name] of categories.entries()) label(name, path.child("categories").index(i));
  return errors;
}

export function validateDeprecationWarning(
  {
    deprecated = false,
    deprecationWarning: warning,
  }: {
    readonly deprecated?: boolean;
    readonly deprecationWarning?: string;
  },
  path: Path,
): FieldError[] {
  if (warning === undefined) return [];
  const fault = (detail: string) => invalid(path, warning, detail);
  if (!deprecated) return [fault("can only be set for deprecated versions")];
  const errors: FieldError[] = [];
  if (utf8Length(warning) > WARNING_BYTES_MAX) {
    errors.push(fault(`must be <= ${WARNING_BYTES_MAX} characters long`));
  }
  if (warning === "") errors.push(fault("must not be an empty string"));
  const hidden = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(warning);
  if (hidden !== null) {
    const index = utf8Length(warning.slice(0, hidden.index));
    errors.push(
      fault(
        `must only contain printable UTF-8 characters; non-printable character found at index ${index}`,
      ),
    );
  }
  return errors;
}

export function validateColumns(
  columns: readonly CustomResourceColumnDefinition[] | undefined,
  path: Path,
): FieldError[] {
  return (columns ?? []).flatMap((column, i) => validateColumn(column, path.index(i)));
}

function validateColumn(column: CustomResourceColumnDefinition, path: Path): FieldError[] {
  const { name, type, format = "", jsonPath } = column;
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(path.child("name"), ""));
  const types = `must be one of ${COLUMN_TYPES.join(",")}`;
  if (type === "") errors.push(required(path.child("type"), types));
  else if (!COLUMN_TYPES.includes(type)) errors.push(invalid(path.child("type"), type, types));
  if (format !== "" && !COLUMN_FORMATS.includes(format)) {
    const detail = `must be one of ${COLUMN_FORMATS.join(",")}`;
    errors.push(invalid(path.child("format"), format, detail));
  }
  const at = path.child("JSONPath");
  if (jsonPath === "") errors.push(required(at, ""));
  else errors.push(...validateSimplePath(jsonPath, at));
  return errors;
}

function validateSimplePath(text: string, path: Path): FieldError[] {
  if (text.startsWith(".")) return [];
  return [invalid(path, text, "must be a simple json path starting with .")];
}

export function validateSubresources(
  subresources: CustomResourceSubresources | undefined,
  path: Path,
): FieldError[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const errors: FieldError[] = [];
  for (const [field, root] of [
    ["specReplicasPath", ".spec"],
    ["statusReplicasPath", ".status"],
  ] as const) {
    const at = path.child(`scale.${field}`);
    const text = scale[field];
    if (text === "") errors.push(required(at, ""));
    else if (!text.startsWith(".")) errors.push(...validateSimplePath(text, at));
    else if (!text.startsWith(`${root}.`)) {
      errors.push(invalid(at, text, `should be a json path under ${root}`));
    }
  }
  const { labelSelectorPath: selector = "" } = scale;
  const at = path.child("scale.labelSelectorPath");
  if (selector !== "" && !selector.startsWith(".")) {
    errors.push(...validateSimplePath(selector, at));
  } else if (selector !== "" && !/^\.(spec|status)\./.test(selector)) {
    errors.push(invalid(at, selector, "should be a json path under either .spec or .status"));
  }
  return errors;
}

export function validateSelectableFields(
  fields: readonly SelectableField[],
  schema: JSONSchemaProps,
  allowTooMany: boolean,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, { jsonPath }] of fields.entries()) {
    const at = path.index(i).child("jsonPath");
    if (jsonPath === "") {
      errors.push(required(at, ""));
      continue;
    }
    const resolved = resolveFieldPath(jsonPath, schema, false);
    if (!resolved.ok) {
      errors.push(invalid(at, jsonPath, `is an invalid path: ${resolved.fault}`));
      continue;
    }
    if (resolved.steps[0] === "metadata") {
      errors.push(invalid(at, jsonPath, "must not point to fields in metadata"));
    }
    if (!SELECTABLE_TYPES.includes(resolved.schema?.type ?? "")) {
      const detail =
        "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
      errors.push(invalid(at, jsonPath, detail));
    }
    const key = resolved.steps.join("\n");
    if (seen.has(key)) errors.push(duplicate(at, jsonPath));
    seen.add(key);
  }
  if (seen.size > SELECTABLE_FIELDS_MAX && !allowTooMany) {
    errors.push(tooMany(path, seen.size, SELECTABLE_FIELDS_MAX));
  }
  return errors;
}
