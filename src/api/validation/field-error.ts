/**
 * One broken rule: which field, which kind of fault, in the words that clients match on.
 * `formatFieldError` gives the text of a Status cause; the catalogue of constructors is closed.
 */
import type { Path } from "./path.ts";

export type FieldErrorType =
  | "FieldValueNotFound"
  | "FieldValueRequired"
  | "FieldValueDuplicate"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "InternalError"
  | "FieldValueTypeInvalid";

export interface FieldError {
  readonly type: FieldErrorType;
  readonly field: string;
  readonly badValue?: unknown;
  readonly detail: string;
}

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
  const quoted = supported.map((v) => JSON.stringify(v)).join(", ");
  const detail = supported.length > 0 ? `supported values: ${quoted}` : "";
  return { type: "FieldValueNotSupported", field: path.toString(), badValue: value, detail };
}

export function forbidden(path: Path, detail: string): FieldError {
  return { type: "FieldValueForbidden", field: path.toString(), detail };
}

export function tooLong(path: Path, maxLength: number): FieldError {
  const detail = maxLength >= 0 ? `may not be more than ${maxLength} bytes` : "value is too long";
  return { type: "FieldValueTooLong", field: path.toString(), badValue: "<value omitted>", detail };
}

export function tooMany(path: Path, actual: number, max: number): FieldError {
  const detail =
    max >= 0 ? `must have at most ${max} item${max === 1 ? "" : "s"}` : "has too many items";
  return { type: "FieldValueTooMany", field: path.toString(), badValue: actual, detail };
}

export function internalError(path: Path, detail: string): FieldError {
  return { type: "InternalError", field: path.toString(), detail };
}
