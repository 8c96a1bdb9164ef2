/** matchConditions of webhooks and policies: all must be true, and one that is false takes precedence over errors of others. */

import type { Activation } from "#api/cel/evaluate/frame.ts";
import {
  type AdmissionProgram,
  AdmissionRun,
  admissionProgram,
  MATCH_CONDITIONS_COST_MAX,
  type NamedProgram,
} from "#api/expressions/admission-program.ts";
import type { MatchCondition } from "#api/generated/admissionregistration.v1.ts";
import { aggregateText } from "../../config/aggregate-text.ts";

export function compileConditions(
  conditions: readonly MatchCondition[] | undefined,
  hasParams: boolean,
): readonly AdmissionProgram[] {
  const use = { hasParams, hasAuthorizer: true, variables: [], stored: true };
  return (conditions ?? []).map(({ expression }) =>
    admissionProgram(expression, { ...use, role: "matchCondition" }),
  );
}

export type ConditionsOutcome =
  | { readonly outcome: "yes" | "no"; readonly errorCount: number }
  | { readonly outcome: "fault"; readonly fault: string; readonly errorCount: number };

export function evaluateConditions(
  conditions: readonly AdmissionProgram[],
  inputs: Activation,
  variables: readonly NamedProgram[] = [],
): ConditionsOutcome {
  const run = new AdmissionRun(inputs, variables, MATCH_CONDITIONS_COST_MAX);
  const faults: string[] = [];
  for (const condition of conditions) {
    const result = run.evaluate(condition);
    if (result.ok && result.value === false) return { outcome: "no", errorCount: faults.length };
    if (result.ok) continue;
    if (result.stops) return { outcome: "fault", fault: result.error, errorCount: 0 };
    faults.push(result.error);
  }
  if (faults.length === 0) return { outcome: "yes", errorCount: 0 };
  return { outcome: "fault", fault: aggregateText(faults), errorCount: faults.length };
}
