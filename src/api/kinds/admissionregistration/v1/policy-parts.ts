/** What validating and mutating admission policies share: parameters, variables, expressions. */

import { UNSET } from "#api/columns.ts";
import { type AdmissionUse, type ExpressionCompiler, expressionError } from "#api/expressions.ts";
import type {
  MatchCondition,
  MatchResources,
  ParamKind,
  Variable,
} from "#api/generated/admissionregistration.v1.ts";
import type { Column } from "#api/kind.ts";
import { validateOneOf } from "#api/validation/faults.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { isDns1035Label, isDns1123Subdomain } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import type { Steps } from "#lib/async/steps.ts";
import { validateMatchConditions } from "./match-conditions.ts";
import { FAILURE_POLICIES, validateMatchResources } from "./rules.ts";

interface PolicySpec {
  readonly paramKind?: ParamKind;
  readonly matchConstraints?: MatchResources;
  readonly failurePolicy?: string;
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly Variable[];
}

export const paramKindColumn: Column<{ readonly spec: PolicySpec }> = {
  name: "ParamKind",
  type: "string",
  description: "ParamKind specifies the kind of resources used to parameterize this policy",
  cell: ({ spec: { paramKind } }) =>
    paramKind === undefined ? UNSET : `${paramKind.apiVersion ?? ""}/${paramKind.kind ?? ""}`,
};

/** The parts before the expressions: failure policy, parameters, constraints. */
export function validatePolicyHead(spec: PolicySpec, path: Path): FieldError[] {
  const { failurePolicy, paramKind, matchConstraints } = spec;
  const errors: FieldError[] = [];
  const failurePath = path.child("failurePolicy");
  if (failurePolicy === undefined) errors.push(required(failurePath, ""));
  else errors.push(...validateOneOf(failurePath, failurePolicy, FAILURE_POLICIES));
  if (paramKind !== undefined) {
    errors.push(...validateParamKind(paramKind, path.child("paramKind")));
  }
  const matchPath = path.child("matchConstraints");
  if (matchConstraints === undefined) return [...errors, required(matchPath, "")];
  errors.push(...validateMatchResources(matchConstraints, matchPath));
  if ((matchConstraints.resourceRules ?? []).length === 0) {
    errors.push(required(matchPath.child("resourceRules"), ""));
  }
  return errors;
}

/** Match conditions and variables; conditions that an update leaves alone are not looked at. */
export function* validateConditionsAndVariables(
  spec: PolicySpec,
  old: PolicySpec | undefined,
  expressions: PolicyExpressions,
  path: Path,
): Steps<FieldError[]> {
  const errors: FieldError[] = [];
  const unchanged =
    old !== undefined &&
    semanticEqual(spec.paramKind, old.paramKind) &&
    semanticEqual(spec.matchConditions, old.matchConditions);
  if (!unchanged) {
    const options = {
      compiler: expressions.compiler,
      hasParams: spec.paramKind !== undefined,
      stored: new Set((old?.matchConditions ?? []).map(({ expression }) => expression)),
    };
    const at = path.child("matchConditions");
    errors.push(...validateMatchConditions(spec.matchConditions ?? [], options, at));
  }
  for (const [i, variable] of (spec.variables ?? []).entries()) {
    errors.push(...validateVariable(variable, i, expressions, path.child("variables").index(i)));
    yield;
  }
  return errors;
}

/** Compiles the expressions of one policy. */
export interface PolicyExpressions {
  readonly compiler: ExpressionCompiler | undefined;
  readonly hasParams: boolean;
  readonly variables: readonly Variable[];
}

export function policyExpressions(
  spec: PolicySpec,
  compiler: ExpressionCompiler | undefined,
): PolicyExpressions {
  return { compiler, hasParams: spec.paramKind !== undefined, variables: spec.variables ?? [] };
}

export function validateExpression(
  expression: string,
  use: Pick<AdmissionUse, "role" | "stored"> & Partial<AdmissionUse>,
  { compiler, hasParams, variables }: PolicyExpressions,
  path: Path,
): FieldError[] {
  // A variable without an expression is not there.
  const declared = (use.variables ?? variables).filter((one) => one.expression.trim() !== "");
  const fault = compiler?.admission(expression, {
    hasParams,
    hasAuthorizer: true,
    ...use,
    variables: declared,
  });
  return expressionError(path, expression, fault);
}

function validateParamKind({ apiVersion = "", kind = "" }: ParamKind, path: Path): FieldError[] {
  const errors = validateGroupVersion(apiVersion, path.child("apiVersion"));
  const kindFaults = isDns1035Label(kind.toLowerCase());
  if (kind === "") {
    errors.push(required(path.child("kind"), ""));
  } else if (kindFaults.length > 0) {
    const detail = `may have mixed case, but should otherwise match: ${kindFaults.join(",")}`;
    errors.push(invalid(path.child("kind"), kind, detail));
  }
  return errors;
}

function validateGroupVersion(apiVersion: string, path: Path): FieldError[] {
  if (apiVersion === "") return [required(path, "")];
  const parts = apiVersion.split("/");
  if (parts.length > 2) {
    return [invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  }
  const [group, version] = parts.length === 2 ? [parts[0]!, parts[1]!] : ["", parts[0]!];
  const errors: FieldError[] = [];
  const groupFaults = group === "" ? [] : isDns1123Subdomain(group);
  if (groupFaults.length > 0) errors.push(invalid(path, group, groupFaults.join(",")));
  if (version === "") return [...errors, invalid(path, apiVersion, "version must be specified")];
  const versionFaults = isDns1035Label(version);
  if (versionFaults.length > 0) errors.push(invalid(path, version, versionFaults.join(",")));
  return errors;
}

const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const RESERVED = new Set(
  (
    "true false null in as break const continue else for function if import let loop package " +
    "namespace return var void while"
  ).split(" "),
);

function validateVariable(
  { name, expression }: Variable,
  index: number,
  expressions: PolicyExpressions,
  path: Path,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name.trim() === "") {
    errors.push(required(path.child("name"), "name is not specified"));
  } else if (!IDENTIFIER.test(name) || RESERVED.has(name)) {
    errors.push(invalid(path.child("name"), name, "must be a valid CEL identifier"));
  }
  const at = path.child("expression");
  if (expression.trim() === "") return [...errors, required(at, "expression is not specified")];
  const use = {
    role: "variable",
    stored: false,
    variables: expressions.variables.slice(0, index),
  } as const;
  return [...errors, ...validateExpression(expression, use, expressions, at)];
}
