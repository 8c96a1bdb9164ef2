/** Warnings about the expressions of a validating policy that do not fit the kinds it matches. */
import { compile, type Environment, extendEnvironment } from "#api/cel/environment.ts";
import { DYN, objectType, type Type } from "#api/cel/types/type.ts";
import type {
  ExpressionWarning,
  ValidatingAdmissionPolicySpec,
} from "#api/generated/admissionregistration.v1.ts";
import { commonEnvironment, declaredType } from "./admission.ts";
import { type DeclaredType, typesIn } from "./declared-type.ts";
import { AUTHORIZER_TYPE } from "./libraries/authorization.ts";
import { objectTypes } from "./object-types.ts";
import type { TypedKind } from "./typed-kind.ts";

const KINDS_MAX = 10;

/** `kinds` are those whose schemas are known. */
export function policyWarnings(
  spec: ValidatingAdmissionPolicySpec,
  kinds: readonly TypedKind[],
): ExpressionWarning[] {
  const params = paramsType(spec, kinds);
  const environments = matchedKinds(spec, kinds).flatMap((kind) => {
    const type = kind.type();
    if (type === undefined) return [];
    const name = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
    return [{ name, environment: environmentFor(spec, type, params) }];
  });
  const warningOf = (expression: string, fieldRef: string): ExpressionWarning[] => {
    const messages = environments.flatMap(({ name, environment }) => {
      const compiled = compile(environment, expression);
      return compiled.ok ? [] : [`${name}: ${compiled.error}\n`];
    });
    return messages.length === 0 ? [] : [{ fieldRef, warning: messages.join("\n") }];
  };
  return (spec.validations ?? []).flatMap(({ expression, messageExpression = "" }, i) => {
    const at = `spec.validations[${i}]`;
    const message =
      messageExpression === "" ? [] : warningOf(messageExpression, `${at}.messageExpression`);
    return [...warningOf(expression, `${at}.expression`), ...message];
  });
}

/** Kinds that rules name in full, sorted; of rules with wildcards none. */
function matchedKinds(
  spec: ValidatingAdmissionPolicySpec,
  kinds: readonly TypedKind[],
): TypedKind[] {
  const matched = new Set<TypedKind>();
  for (const rule of spec.matchConstraints?.resourceRules ?? []) {
    const { apiGroups = [], apiVersions = [], resources = [] } = rule;
    const isOpen = [...(apiGroups ?? []), ...(apiVersions ?? [])].some((name) =>
      name.includes("*"),
    );
    if (isOpen) continue;
    const found = kinds.filter(({ group, version, plural }) => {
      const named = resources?.includes(plural) ?? false;
      return named && apiGroups?.includes(group) && apiVersions?.includes(version);
    });
    for (const kind of found.slice(0, KINDS_MAX)) matched.add(kind);
  }
  const keyOf = ({ group, version, kind }: TypedKind) => `${group}\0${version}\0${kind}`;
  return [...matched].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(0, KINDS_MAX);
}

/** Undefined without parameters; of an unknown kind they are dynamic. */
function paramsType(
  { paramKind }: ValidatingAdmissionPolicySpec,
  kinds: readonly TypedKind[],
): DeclaredType | "dynamic" | undefined {
  if (paramKind === undefined) return undefined;
  const { apiVersion = "", kind: name = "" } = paramKind;
  const found = kinds.find(({ group, version, kind }) => {
    return (group === "" ? version : `${group}/${version}`) === apiVersion && kind === name;
  });
  return found?.type() ?? "dynamic";
}

function environmentFor(
  spec: ValidatingAdmissionPolicySpec,
  object: DeclaredType,
  params: DeclaredType | "dynamic" | undefined,
): Environment {
  let environment = extendEnvironment(
    commonEnvironment(),
    { object: object.type, oldObject: object.type, authorizer: AUTHORIZER_TYPE },
    typesIn(object),
  );
  if (params === "dynamic") environment = extendEnvironment(environment, { params: DYN });
  else if (params !== undefined) {
    environment = extendEnvironment(environment, { params: params.type }, typesIn(params));
  }
  const types = new Map<string, Type>();
  const composed = extendEnvironment(
    environment,
    { variables: objectType("kubernetes.variables") },
    objectTypes(new Map([["kubernetes.variables", types]])),
  );
  for (const { name, expression } of spec.variables ?? []) {
    const compiled = compile(composed, expression);
    types.set(name, compiled.ok ? declaredType(compiled.value.type) : DYN);
  }
  return composed;
}
