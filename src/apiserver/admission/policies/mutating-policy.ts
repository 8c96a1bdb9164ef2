/** A MutatingAdmissionPolicy, compiled, and what one of its mutations makes of an object. */

import { mergeConfiguration } from "#api/apply/merge-configuration.ts";
import type { Activation } from "#api/cel/evaluate/frame.ts";
import { RecordValue } from "#api/cel/evaluate/record.ts";
import { toJson } from "#api/cel/values/json.ts";
import { CelError, CelList, CelMap, type Value } from "#api/cel/values/value.ts";
import {
  type AdmissionProgram,
  AdmissionRun,
  admissionProgram,
  type NamedProgram,
  POLICY_COST_MAX,
  variablePrograms,
} from "#api/expressions/admission-program.ts";
import type {
  MutatingAdmissionPolicy,
  Mutation,
  ParamKind,
} from "#api/generated/admissionregistration.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { membersOf } from "#api/members.ts";
import { applyJsonPatch, isFailedTest } from "#api/patch/json-patch.ts";
import type { JsonObject } from "#api/patch/json-value.ts";
import { findSchemaOfKind } from "#api/schema/from-facts.ts";
import { compileConditions } from "../expressions/match-conditions.ts";
import type { CompiledMatch } from "../matching/match-request.ts";
import type { RequestVersion } from "../matching/request-versions.ts";
import { compileMatchResources } from "./policy-hooks.ts";

export interface MutatingPolicy {
  readonly name: string;
  readonly match: CompiledMatch | undefined;
  readonly paramKind: ParamKind | undefined;
  readonly failsOpen: boolean;
  readonly reinvocable: boolean;
  readonly conditions: readonly AdmissionProgram[];
  readonly variables: readonly NamedProgram[];
  readonly mutations: readonly CompiledMutation[];
}

interface CompiledMutation {
  readonly role: "applyConfiguration" | "jsonPatch";
  readonly program: AdmissionProgram;
}

export function compileMutatingPolicy({ metadata, spec }: MutatingAdmissionPolicy): MutatingPolicy {
  const { paramKind, matchConstraints, variables = [], mutations = [] } = spec;
  const hasParams = paramKind !== undefined;
  const use = { hasParams, hasAuthorizer: true, stored: true, variables };
  const compiled = (mutation: Mutation): CompiledMutation => {
    const role = mutation.patchType === "JSONPatch" ? "jsonPatch" : "applyConfiguration";
    const expression = mutation[role]?.expression ?? "";
    return { role, program: admissionProgram(expression, { ...use, role }) };
  };
  return {
    name: metadata.name ?? "",
    match: matchConstraints && compileMatchResources(matchConstraints),
    paramKind,
    failsOpen: spec.failurePolicy === "Ignore",
    reinvocable: spec.reinvocationPolicy === "IfNeeded",
    conditions: compileConditions(spec.matchConditions, hasParams),
    variables: variablePrograms(variables, hasParams),
    mutations: mutations.map(compiled),
  };
}

export type Mutated =
  /** The object as JSON, before defaults. */
  | { readonly ok: true; readonly document: unknown }
  | { readonly ok: false; readonly error: string; readonly isBudget: boolean };

/** `object`: in the version of the request that the policy matches. */
export function evaluateMutation(
  { variables }: MutatingPolicy,
  { role, program }: CompiledMutation,
  version: RequestVersion,
  object: KubeObject,
  inputs: Activation,
): Mutated {
  const run = new AdmissionRun(inputs, variables, POLICY_COST_MAX);
  const result = run.evaluate(program);
  if (!result.ok) return { ok: false, error: result.error, isBudget: result.stops };
  try {
    return role === "jsonPatch"
      ? patched(object, result.value)
      : merged(object, result.value, version);
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    return failed(error.message);
  }
}

function merged(object: KubeObject, value: Value, { target, kind }: RequestVersion): Mutated {
  const faults = typeNameFaults(value);
  if (faults.length > 0) return failed(`type mismatch: ${faults.join("\n")}`);
  const { group, version, kind: name } = target.kind;
  const schema =
    kind?.custom?.appliedSchema() ?? kind?.schema() ?? findSchemaOfKind(group, version, name);
  if (schema === undefined)
    return failed(`Resource kind ${group}/${version}, Kind=${name} not found`);
  const { kind: kindName, apiVersion } = object;
  const configuration = { ...(toJson(value) as JsonObject), apiVersion, kind: kindName };
  const result = mergeConfiguration(membersOf(object), configuration, schema);
  if (!result.ok) return failed(`error applying patch: ${result.error}`);
  return { ok: true, document: result.value };
}

function patched(object: KubeObject, value: Value): Mutated {
  if (!(value instanceof CelList)) {
    return failed("type mismatch: JSONPatchType.expression should evaluate to array");
  }
  const operations: JsonObject[] = [];
  for (const operation of value) {
    if (!(operation instanceof RecordValue)) {
      return failed(
        "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch",
      );
    }
    const given = operation.fields.get("value");
    const faults = given === undefined ? [] : typeNameFaults(given);
    if (faults.length > 0) return failed(`type mismatch: ${faults.join("\n")}`);
    operations.push(toJson(operation) as JsonObject);
  }
  const result = applyJsonPatch(membersOf(object), operations);
  if (result.ok) return { ok: true, document: result.value };
  // A test that fails is how a patch says that it does not apply.
  if (isFailedTest(result.error)) return { ok: true, document: object };
  return failed(`JSON Patch: ${result.error}`);
}

/** The object of a field `spec` must be called `Object.spec`, and so on. */
function typeNameFaults(value: Value, path?: string): string[] {
  if (value instanceof RecordValue) {
    const { name } = value.type;
    const expected = path ?? name;
    const own =
      name === expected
        ? []
        : [
            `unexpected type name "${name}", expected "${expected}", which matches field name path from root Object type`,
          ];
    const fields = [...value.fields].flatMap(([field, inner]) =>
      typeNameFaults(inner, `${expected}.${field}`),
    );
    return [...own, ...fields];
  }
  if (path === undefined) return [];
  if (value instanceof CelList) return [...value].flatMap((item) => typeNameFaults(item, path));
  if (value instanceof CelMap) {
    return [...value.keys()].flatMap((key) => typeNameFaults(value.find(key) ?? null, path));
  }
  return [];
}

function failed(error: string): Mutated {
  return { ok: false, error, isBudget: false };
}
