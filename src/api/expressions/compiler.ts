/** The compiler of the rules of kinds: each kind's expressions in the environment they are for. */
import type { ExpressionCompiler, SchemaRuleValidator } from "#api/expressions.ts";
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { admissionFault } from "./admission.ts";
import { deviceFaults } from "./devices.ts";
import { schemaRuleErrors } from "./schema-rules.ts";
import { schemaDefaultRuleValidator, schemaRuleValidator } from "./schema-validator.ts";

export const expressionCompiler: ExpressionCompiler = {
  admission: admissionFault,
  schema: schemaRuleErrors,
  schemaRules: validatorOfSchema,
  schemaDefaultRules: schemaDefaultRuleValidator,
  device: deviceFaults,
};

// Keyed by the schema, which lives as long as the definition that it belongs to.
const validators = new WeakMap<
  JSONSchemaProps,
  { readonly made: SchemaRuleValidator | undefined }
>();

function validatorOfSchema(schema: JSONSchemaProps): SchemaRuleValidator | undefined {
  const known = validators.get(schema) ?? { made: schemaRuleValidator(schema) };
  validators.set(schema, known);
  return known.made;
}
