/** The compiler of the rules of kinds: each kind's expressions in the environment they are for. */
import type { ExpressionCompiler } from "#api/expressions.ts";
import { admissionFault } from "./admission.ts";
import { deviceFaults } from "./devices.ts";
import { schemaRuleErrors } from "./schema-rules.ts";

export const expressionCompiler: ExpressionCompiler = {
  admission: admissionFault,
  schema: schemaRuleErrors,
  device: deviceFaults,
};
