/** The rules of a schema that are written as expressions: all but the expressions themselves. */
import type { JSONSchemaProps, ValidationRule } from "#api/generated/apiextensions.v1.ts";
import { type FieldError, invalid, notSupported, required } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";
import { resolveFieldPath } from "../json-schema/field-path.ts";
import { structuralFault } from "../json-schema/structural.ts";

const REASONS = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];
const LINE_BREAK = /[\n\r]/;

export function validateSchemaExpressions(schema: JSONSchemaProps, path: Path): FieldError[] {
  const at = path.child("x-kubernetes-validations");
  let structural: boolean | undefined; // asked once: it looks at the whole schema
  const isStructural = (): boolean => {
    structural ??= structuralFault(schema) === undefined;
    return structural;
  };
  return (schema["x-kubernetes-validations"] ?? []).flatMap((rule, i) =>
    validateRule(rule, schema, isStructural, at.index(i)),
  );
}

function validateRule(
  rule: ValidationRule,
  schema: JSONSchemaProps,
  isStructural: () => boolean,
  path: Path,
): FieldError[] {
  const { message = "", messageExpression = "", reason, fieldPath = "" } = rule;
  const errors: FieldError[] = [];
  const trimmedMessage = message.trim();
  const messagePath = path.child("message");
  if (rule.rule.trim() === "") {
    errors.push(required(path.child("rule"), "rule is not specified"));
  } else if (message !== "" && trimmedMessage === "") {
    errors.push(invalid(messagePath, message, "must be non-empty if specified"));
  } else if (LINE_BREAK.test(trimmedMessage)) {
    errors.push(invalid(messagePath, message, "must not contain line breaks"));
  } else if (LINE_BREAK.test(rule.rule.trim()) && trimmedMessage === "") {
    const detail = "message must be specified if rule contains line breaks";
    errors.push(required(messagePath, detail));
  }
  if (messageExpression !== "" && messageExpression.trim() === "") {
    const detail = "messageExpression must be non-empty if specified";
    errors.push(required(path.child("messageExpression"), detail));
  }
  if (reason !== undefined && !REASONS.includes(reason)) {
    errors.push(notSupported(path.child("reason"), reason, REASONS));
  }
  const at = path.child("fieldPath");
  return [...errors, ...validateFieldPath(fieldPath, schema, isStructural, at)];
}

function validateFieldPath(
  fieldPath: string,
  schema: JSONSchemaProps,
  isStructural: () => boolean,
  path: Path,
): FieldError[] {
  if (fieldPath === "") return [];
  const errors: FieldError[] = [];
  if (fieldPath.trim() === "") {
    errors.push(invalid(path, fieldPath, "must be non-empty if specified"));
  }
  if (LINE_BREAK.test(fieldPath)) {
    errors.push(invalid(path, fieldPath, "must not contain line breaks"));
  }
  if (isStructural() && !resolveFieldPath(fieldPath, schema, true).ok) {
    errors.push(invalid(path, fieldPath, "must be a valid path"));
  }
  return errors;
}
