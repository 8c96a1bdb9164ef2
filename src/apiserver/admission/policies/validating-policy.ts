/** A ValidatingAdmissionPolicy, compiled, and what it decides about one request. */
import type { Activation } from "#api/cel/evaluate/frame.ts";
import { typeOf } from "#api/cel/values/value.ts";
import {
  type AdmissionProgram,
  AdmissionRun,
  admissionProgram,
  type NamedProgram,
  POLICY_COST_MAX,
  variablePrograms,
} from "#api/expressions/admission-program.ts";
import type {
  ParamKind,
  ValidatingAdmissionPolicy,
  Validation,
} from "#api/generated/admissionregistration.v1.ts";
import { utf8Length } from "#lib/text/utf8-length.ts";
import type { Clock } from "#lib/time/clock.ts";
import {
  type ConditionsOutcome,
  compileConditions,
  evaluateConditions,
} from "../expressions/match-conditions.ts";
import type { CompiledMatch } from "../matching/match-request.ts";
import { compileMatchResources } from "./policy-hooks.ts";

const MESSAGE_BYTES_MAX = 5 * 1024;

export interface ValidatingPolicy {
  readonly name: string;
  readonly match: CompiledMatch | undefined;
  readonly paramKind: ParamKind | undefined;
  /** Errors let the request pass (failurePolicy Ignore). */
  readonly failsOpen: boolean;
  readonly conditions: readonly AdmissionProgram[];
  readonly variables: readonly NamedProgram[];
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly { readonly key: string; readonly value: AdmissionProgram }[];
}

interface CompiledValidation {
  readonly spec: Validation;
  readonly condition: AdmissionProgram;
  readonly message: AdmissionProgram | undefined;
}

export function compileValidatingPolicy({
  metadata,
  spec,
}: ValidatingAdmissionPolicy): ValidatingPolicy {
  const { paramKind, matchConstraints, variables = [] } = spec;
  const hasParams = paramKind !== undefined;
  const use = { hasParams, hasAuthorizer: true, stored: true, variables };
  return {
    name: metadata.name ?? "",
    match: matchConstraints && compileMatchResources(matchConstraints),
    paramKind,
    failsOpen: spec.failurePolicy === "Ignore",
    conditions: compileConditions(spec.matchConditions, hasParams),
    variables: variablePrograms(variables, hasParams),
    validations: (spec.validations ?? []).map((validation) => {
      const { expression, messageExpression = "" } = validation;
      const messageUse = { ...use, role: "message", hasAuthorizer: false } as const;
      return {
        spec: validation,
        condition: admissionProgram(expression, { ...use, role: "validation" }),
        message:
          messageExpression === "" ? undefined : admissionProgram(messageExpression, messageUse),
      };
    }),
    auditAnnotations: (spec.auditAnnotations ?? []).map(({ key, valueExpression }) => ({
      key,
      value: admissionProgram(valueExpression, { ...use, role: "auditAnnotation" }),
    })),
  };
}

export type PolicyDecision =
  | { readonly action: "admit" }
  /** An evaluation failed and failurePolicy is Ignore. */
  | { readonly action: "ignore"; readonly message: string; readonly seconds: number }
  | {
      readonly action: "deny";
      readonly message: string;
      readonly reason: string;
      /** It is denied because of an error. */
      readonly isError: boolean;
      readonly seconds: number;
    };

export interface PolicyOutcome {
  /** One for each validation, unless something else was wrong. */
  readonly decisions: readonly PolicyDecision[];
  readonly conditions: ConditionsOutcome | undefined;
  readonly annotations: readonly { readonly key: string; readonly value: string }[];
  /** Audit annotations that failed: they deny whatever the binding's validationActions are. */
  readonly annotationErrors: readonly string[];
}

/** What the expressions read: messages have no authorizer. */
export interface PolicyInputs {
  readonly all: Activation;
  readonly withoutAuthorizer: Activation;
}

export function evaluateValidatingPolicy(
  policy: ValidatingPolicy,
  inputs: PolicyInputs,
  clock: Pick<Clock, "elapsedMs">,
): PolicyOutcome {
  const { conditions, variables } = policy;
  let matched: ConditionsOutcome | undefined;
  if (conditions.length > 0) {
    matched = evaluateConditions(conditions, inputs.all, variables);
    const none = { conditions: matched, annotations: [], annotationErrors: [] };
    // With failurePolicy Ignore a condition that cannot be evaluated does not match.
    if (matched.outcome === "no") return { decisions: [], ...none };
    if (matched.outcome === "fault") {
      return { decisions: policy.failsOpen ? [] : [failed(policy, matched.fault, 0)], ...none };
    }
  }
  return {
    decisions: evaluateValidations(policy, inputs, clock),
    conditions: matched,
    ...evaluateAnnotations(policy, inputs),
  };
}

function evaluateValidations(
  policy: ValidatingPolicy,
  inputs: PolicyInputs,
  clock: Pick<Clock, "elapsedMs">,
): readonly PolicyDecision[] {
  const run = new AdmissionRun(inputs.all, policy.variables, POLICY_COST_MAX);
  let messages: AdmissionRun | undefined;
  const decisions: PolicyDecision[] = [];
  for (const { spec, condition, message } of policy.validations) {
    const startMs = clock.elapsedMs();
    const result = run.evaluate(condition);
    const seconds = (clock.elapsedMs() - startMs) / 1000;
    if (!result.ok && result.stops) return [failed(policy, result.error, seconds)];
    if (!result.ok) {
      decisions.push(failed(policy, result.error, seconds));
    } else if (result.value === true) {
      decisions.push(ADMITTED);
    } else {
      messages ??= new AdmissionRun(inputs.withoutAuthorizer, policy.variables, POLICY_COST_MAX);
      decisions.push({
        action: "deny",
        message: messageOf(spec, message, messages),
        reason: spec.reason ?? "Invalid",
        isError: false,
        seconds,
      });
    }
  }
  return decisions;
}

const ADMITTED: PolicyDecision = Object.freeze({ action: "admit" });

function failed({ failsOpen }: ValidatingPolicy, message: string, seconds: number): PolicyDecision {
  if (failsOpen) return { action: "ignore", message, seconds };
  return { action: "deny", message, reason: "", isError: true, seconds };
}

/** An expression that gives no usable message leaves it to the next: message, then the expression. */
function messageOf(
  { expression, message = "" }: Validation,
  program: AdmissionProgram | undefined,
  run: AdmissionRun,
): string {
  const result = program && run.evaluate(program);
  const text = result?.ok && typeof result.value === "string" ? result.value.trim() : "";
  if (text !== "" && utf8Length(text) <= MESSAGE_BYTES_MAX && !text.includes("\n")) return text;
  return message === "" ? `failed expression: ${expression.trim()}` : message.trim();
}

function evaluateAnnotations(
  policy: ValidatingPolicy,
  inputs: PolicyInputs,
): Pick<PolicyOutcome, "annotations" | "annotationErrors"> {
  if (policy.auditAnnotations.length === 0) return NO_ANNOTATIONS;
  const annotations: { key: string; value: string }[] = [];
  const annotationErrors: string[] = [];
  const run = new AdmissionRun(inputs.withoutAuthorizer, policy.variables, POLICY_COST_MAX);
  for (const { key, value: program } of policy.auditAnnotations) {
    const result = run.evaluate(program);
    if (!result.ok) {
      if (!policy.failsOpen) annotationErrors.push(result.error);
      if (result.stops) break;
    } else if (typeof result.value === "string") {
      const value = result.value.trim();
      if (value !== "") annotations.push({ key, value });
    } else if (result.value !== null) {
      annotationErrors.push(
        `valueExpression '${program.text}' resulted in unsupported return type: ` +
          `${typeOf(result.value).name}. Return type must be either string or null.`,
      );
    }
  }
  return { annotations, annotationErrors };
}

const NO_ANNOTATIONS = { annotations: [], annotationErrors: [] };
