/** The schema of a custom resource, from its root: structure, defaults, keywords, expressions. */

import { isEmptyCollection } from "#api/codec/empty-collections.ts";
import type { CustomResourceValidation, JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import type { RuleContext } from "#api/kind.ts";
import { type FieldError, forbidden, invalid } from "#api/validation/field-error.ts";
import { fieldErrorSteps } from "#api/validation/field-errors.ts";
import { internalForm } from "#api/validation/internal-form.ts";
import type { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { validateDefaults } from "../json-schema/defaults.ts";
import { structuralFault, validateStructural } from "../json-schema/structural.ts";
import type { DefinitionOptions } from "./ratcheting.ts";
import { validateSchema } from "./schema-rules.ts";

export interface SchemaUse {
  /** The status subresource is on, which wants a simple root. */
  readonly hasStatus: boolean;
  /** The version whose schema it is; "" for the schema of all. */
  readonly version: string;
}

/** In steps: schemas may be large. */
export function* validateResourceSchema(
  validation: CustomResourceValidation | undefined,
  { hasStatus, version }: SchemaUse,
  options: DefinitionOptions,
  context: RuleContext,
  path: Path,
): Steps<FieldError[]> {
  const schema = validation?.openAPIV3Schema;
  if (schema === undefined) return [];
  const root = path.child("openAPIV3Schema");
  const errors = hasStatus ? validateSimpleRoot(schema, path) : [];
  if (schema.nullable) {
    const at = path.child("openAPIV3Schema.nullable");
    errors.push(forbidden(at, "nullable cannot be true at the root"));
  }
  const unreadable = options.requireStructural ? structuralFault(schema) : undefined;
  let structural = false;
  yield;
  if (options.requireStructural && unreadable === undefined) {
    const breaches = validateStructural(schema, root);
    yield;
    const rules = context.expressions?.schemaDefaultRules;
    const checks = { requirePruned: options.requirePrunedDefaults, rules };
    const faults = breaches.length > 0 ? breaches : yield* validateDefaults(schema, checks, root);
    structural = faults.length === 0;
    errors.push(...faults);
  }
  yield;
  const keywordErrors = validateSchema(schema, options, root);
  errors.push(...keywordErrors);
  yield;
  if (structural && keywordErrors.length === 0) {
    const stored = {
      rules: options.storedRules,
      messageExpressions: options.storedMessageExpressions,
      unchanged: options.isSchemaUnchanged(version),
    };
    const rules = context.expressions?.schema(schema, stored, root);
    errors.push(...(yield* fieldErrorSteps(rules)));
  }
  if (errors.length === 0 && unreadable !== undefined) errors.push(invalid(root, "", unreadable));
  return errors;
}

const AT_ROOT = [
  "description",
  "type",
  "format",
  "title",
  "maximum",
  "exclusiveMaximum",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "minLength",
  "pattern",
  "maxItems",
  "minItems",
  "uniqueItems",
  "multipleOf",
  "required",
  "items",
  "properties",
  "externalDocs",
  "example",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
];
const AT_ROOT_TEXT =
  "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations";

/** Fields not allowed there that say nothing when they are empty. */
const EMPTIABLE =
  "allOf anyOf oneOf enum definitions dependencies patternProperties x-kubernetes-list-map-keys".split(
    " ",
  );

/** Reports the first error; fields are checked in the order of their declaration. */
function validateSimpleRoot(schema: JSONSchemaProps, path: Path): FieldError[] {
  const fields = Object.keys(schema);
  const typeFirst = ["id", "$schema", "$ref", "description"];
  const beforeType = fields.filter((field) => typeFirst.includes(field));
  const notAllowed = (field: string) => !AT_ROOT.includes(field);
  const { type = "" } = schema;
  if (!beforeType.some(notAllowed) && type !== "" && type !== "object") {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalid(path.child("openAPIV3Schema.type"), type, detail)];
  }
  const givenEmpty = EMPTIABLE.some((field) => isEmptyCollection(schema, field));
  if (!fields.some(notAllowed) && !givenEmpty) return [];
  const value = internalForm("apiextensions.v1.JSONSchemaProps", schema);
  const detail = `only [${AT_ROOT_TEXT}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalid(path.child("openAPIV3Schema"), value, detail)];
}
