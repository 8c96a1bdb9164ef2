/** The text of a broken rule as clients read it in a Status: `Invalid value: "x": must be …`. */
import { encodeJson } from "#api/codec/json.ts";
import { htmlSafeJson } from "#api/meta/go-json.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { type FieldError, type FieldErrorType, OMITTED } from "./field-error.ts";

/** Without the field: the message of a Status cause. */
export function formatFieldError({ type, badValue, detail }: FieldError): string {
  const title = TITLES[type];
  const shown = HIDES_VALUE.has(type) || badValue === OMITTED ? "" : `: ${formatValue(badValue)}`;
  return `${title}${shown}${detail === "" ? "" : `: ${detail}`}`;
}

/** All of them with their fields, each text once: the tail of an Invalid message. */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const texts = new Set(errors.map((error) => `${error.field}: ${formatFieldError(error)}`));
  const joined = [...texts].join(", ");
  return texts.size === 1 ? joined : `[${joined}]`;
}

const TITLES: Readonly<Record<FieldErrorType, string>> = {
  FieldValueNotFound: "Not found",
  FieldValueRequired: "Required value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueInvalid: "Invalid value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooShort: "Too short",
  FieldValueTooMany: "Too many",
  FieldValueTooFew: "Too few",
  InternalError: "Internal error",
  FieldValueTypeInvalid: "Invalid value",
};

const HIDES_VALUE: ReadonlySet<FieldErrorType> = new Set([
  "FieldValueRequired",
  "FieldValueForbidden",
  "FieldValueTooLong",
  "FieldValueTooShort",
  "InternalError",
]);

function formatValue(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return goQuote(value);
  if (typeof value === "bigint") return value.toString();
  return htmlSafeJson(encodeJson(isTextMap(value) ? sorted(value) : value));
}

/**
 * Labels and selectors are maps, which Go prints in the order of their keys; structs it does not.
 * A struct is recognized by its field names, which are all capitalised.
 */
function isTextMap(value: unknown): value is Record<string, string> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.every(([, item]) => typeof item === "string") &&
    !entries.every(([key]) => /^[A-Z]/.test(key))
  );
}

function sorted(map: Record<string, string>): Record<string, string> {
  const entries = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries);
}
