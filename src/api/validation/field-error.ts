/**
 * One broken rule: which field, which kind of fault, in the words that clients match on.
 * `formatFieldError` gives the text of a Status cause; the catalogue of constructors is closed.
 */
import { goQuote } from "#api/meta/go-quote.ts";
import type { Path } from "./path.ts";

export type FieldErrorType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooShort"
  | "FieldValueTooMany"
  | "FieldValueTooFew"
  | "InternalError"
  | "FieldValueTypeInvalid";

export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  /** As it is shown; a struct in its internal form (`internalForm`). Undefined is shown as null. */
  readonly badValue?: unknown;
  readonly detail: string;
}

/** In place of a bad value that is not shown. */
export const OMITTED: unique symbol = Symbol("omitted");

export function notFound(path: Path, value: unknown): FieldError {
  return { type: "FieldValueNotFound", field: path.toString(), badValue: value, detail: "" };
}

export function required(path: Path, detail: string): FieldError {
  return { type: "FieldValueRequired", field: path.toString(), detail };
}

export function duplicate(path: Path, value: unknown): FieldError {
  return { type: "FieldValueDuplicate", field: path.toString(), badValue: value, detail: "" };
}

export function invalid(path: Path, value: unknown, detail: string): FieldError {
  return { type: "FieldValueInvalid", field: path.toString(), badValue: value, detail };
}

export function typeInvalid(path: Path, value: unknown, detail: string): FieldError {
  return { type: "FieldValueTypeInvalid", field: path.toString(), badValue: value, detail };
}

export function notSupported(path: Path, value: unknown, supported: readonly string[]): FieldError {
  const quoted = supported.map(goQuote).join(", ");
  const detail = supported.length > 0 ? `supported values: ${quoted}` : "";
  return { type: "FieldValueNotSupported", field: path.toString(), badValue: value, detail };
}

export function forbidden(path: Path, detail: string): FieldError {
  return { type: "FieldValueForbidden", field: path.toString(), detail };
}

export function tooLong(path: Path, maxLength: number): FieldError {
  const unit = maxLength === 1 ? "byte" : "bytes";
  const detail = maxLength >= 0 ? `may not be more than ${maxLength} ${unit}` : "value is too long";
  return { type: "FieldValueTooLong", field: path.toString(), badValue: OMITTED, detail };
}

export function tooMany(path: Path, actual: number, max: number): FieldError {
  const detail =
    max >= 0 ? `must have at most ${max} item${max === 1 ? "" : "s"}` : "has too many items";
  const badValue = actual >= 0 ? actual : OMITTED;
  return { type: "FieldValueTooMany", field: path.toString(), badValue, detail };
}

export function tooFew(path: Path, actual: number, min: number): FieldError {
  const detail =
    min >= 0 ? `must have at least ${min} item${min === 1 ? "" : "s"}` : "has too few items";
  const badValue = actual >= 0 ? actual : OMITTED;
  return { type: "FieldValueTooFew", field: path.toString(), badValue, detail };
}

export function tooShort(path: Path, value: unknown, minLength: number): FieldError {
  const unit = minLength === 1 ? "character" : "characters";
  const detail = minLength >= 0 ? `must be at least ${minLength} ${unit}` : "value is too short";
  return { type: "FieldValueTooShort", field: path.toString(), badValue: value, detail };
}

/** As `tooLong`, where the limit counts characters. */
export function tooLongCharacters(path: Path, maxLength: number): FieldError {
  const unit = maxLength === 1 ? "character" : "characters";
  const detail = maxLength >= 0 ? `may not be more than ${maxLength} ${unit}` : "value is too long";
  return { type: "FieldValueTooLong", field: path.toString(), badValue: OMITTED, detail };
}

export function internalError(path: Path, detail: string): FieldError {
  return { type: "InternalError", field: path.toString(), detail };
}
