/** Expressions of admission policies and of match conditions. */

import type { TypeProvider } from "#api/cel/declarations.ts";
import {
  type Compilation,
  compile,
  type Environment,
  extendEnvironment,
  withLibraries,
} from "#api/cel/environment.ts";
import {
  BOOL,
  DYN,
  isSameType,
  listType,
  mapType,
  NULL,
  objectType,
  STRING,
  type Type,
} from "#api/cel/types/type.ts";
import type { AdmissionUse, ExpressionFault } from "#api/expressions.ts";
import { lazy } from "#lib/lazy.ts";
import { baseEnvironment } from "./base-environment.ts";
import { AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE } from "./libraries/authorization.ts";
import { jsonPatchLibrary } from "./libraries/json-patch.ts";
import { type FieldTypes, fieldTypes, objectTypes } from "./object-types.ts";

/** Undefined if the expression compiles to what its role needs. */
export function admissionFault(expression: string, use: AdmissionUse): ExpressionFault | undefined {
  const compiled = compileAdmission(expression, use);
  if (!compiled.ok) return { type: "invalid", detail: `compilation failed: ${compiled.error}` };
  const wanted = RESULTS[use.role];
  const { type } = compiled.value;
  if (wanted === undefined || wanted.some((result) => isSameType(result, type))) return undefined;
  const names = wanted.map(plainName);
  const results = names.length === 1 ? names[0] : `one of [${names.join(" ")}]`;
  return { type: "invalid", detail: `must evaluate to ${results} but got ${plainName(type)}` };
}

function compileAdmission(expression: string, use: AdmissionUse): Compilation {
  return compile(admissionEnvironment(use), expression);
}

const OBJECT_TYPE = objectType("Object");
const JSON_PATCH_TYPE = objectType("JSONPatch");

/** What each role's expressions must give; anything if unset. */
const RESULTS: Readonly<Record<AdmissionUse["role"], readonly Type[] | undefined>> = {
  matchCondition: [BOOL],
  validation: [BOOL],
  message: [STRING],
  auditAnnotation: [STRING, NULL],
  variable: undefined,
  applyConfiguration: [OBJECT_TYPE],
  jsonPatch: [listType(JSON_PATCH_TYPE)],
};

const NAMES: Readonly<Record<string, string>> = {
  group: "string",
  version: "string",
};
const REQUEST_TYPES: ReadonlyMap<string, FieldTypes> = new Map([
  ["kubernetes.GroupVersionKind", fieldTypes({ ...NAMES, kind: "string" })],
  ["kubernetes.GroupVersionResource", fieldTypes({ ...NAMES, resource: "string" })],
  [
    "kubernetes.UserInfo",
    fieldTypes({
      username: "string",
      uid: "string",
      groups: "list(string)",
      extra: "map(string, list(string))",
    }),
  ],
  [
    "kubernetes.AdmissionRequest",
    fieldTypes({
      kind: "kubernetes.GroupVersionKind",
      resource: "kubernetes.GroupVersionResource",
      subResource: "string",
      requestKind: "kubernetes.GroupVersionKind",
      requestResource: "kubernetes.GroupVersionResource",
      requestSubResource: "string",
      name: "string",
      namespace: "string",
      operation: "string",
      userInfo: "kubernetes.UserInfo",
      dryRun: "bool",
      options: "dyn",
    }),
  ],
  ["kubernetes.NamespaceSpec", fieldTypes({ finalizers: "list(string)" })],
  [
    "kubernetes.NamespaceCondition",
    fieldTypes({
      status: "string",
      type: "string",
      lastTransitionTime: "timestamp",
      message: "string",
      reason: "string",
    }),
  ],
  [
    "kubernetes.NamespaceStatus",
    fieldTypes({ conditions: "list(kubernetes.NamespaceCondition)", phase: "string" }),
  ],
  [
    "kubernetes.NamespaceMetadata",
    fieldTypes({
      name: "string",
      generateName: "string",
      namespace: "string",
      labels: "map(string, string)",
      annotations: "map(string, string)",
      UID: "string",
      creationTimestamp: "timestamp",
      deletionGracePeriodSeconds: "int",
      deletionTimestamp: "timestamp",
      generation: "int",
      resourceVersion: "string",
      finalizers: "list(string)",
    }),
  ],
  [
    "kubernetes.Namespace",
    fieldTypes({
      metadata: "kubernetes.NamespaceMetadata",
      spec: "kubernetes.NamespaceSpec",
      status: "kubernetes.NamespaceStatus",
    }),
  ],
]);

/** What every expression about a request sees; its objects have any type. */
export const commonEnvironment = lazy(() =>
  extendEnvironment(
    baseEnvironment(),
    {
      object: DYN,
      oldObject: DYN,
      namespaceObject: objectType("kubernetes.Namespace"),
      request: objectType("kubernetes.AdmissionRequest"),
    },
    objectTypes(REQUEST_TYPES),
  ),
);

/** Objects of mutations take any field; JSON patches only theirs. */
const PATCH_TYPES: TypeProvider = {
  findType: (name) => {
    if (name === "JSONPatch") return JSON_PATCH_TYPE;
    return name === "Object" || name.startsWith("Object.") ? objectType(name) : undefined;
  },
  findField: (typeName, field) => {
    if (typeName !== "JSONPatch") return DYN;
    if (field === "value") return DYN;
    return ["op", "path", "from"].includes(field) ? STRING : undefined;
  },
};
const patching = lazy(() =>
  extendEnvironment(withLibraries(commonEnvironment(), [jsonPatchLibrary]), {}, PATCH_TYPES),
);

/** What an expression of this role sees. */
export function admissionEnvironment(use: AdmissionUse, types = variableTypes(use)): Environment {
  const patches = use.role === "applyConfiguration" || use.role === "jsonPatch";
  const environment = patches ? patching() : commonEnvironment();
  const optional = {
    ...(use.hasParams && { params: DYN }),
    ...(use.hasAuthorizer && {
      authorizer: AUTHORIZER_TYPE,
      "authorizer.requestResource": RESOURCE_CHECK_TYPE,
    }),
  };
  const composes = use.role === "variable" || use.variables.length > 0;
  if (use.role === "matchCondition" || !composes) return extendEnvironment(environment, optional);
  const variables = { ...optional, variables: objectType("kubernetes.variables") };
  const provider = objectTypes(new Map([["kubernetes.variables", types]]));
  return extendEnvironment(environment, variables, provider);
}

/** Types of variables that were compiled before, as every expression behind them asks again. */
const KNOWN: Readonly<Record<"true" | "false", WeakMap<object, Type>>> = {
  true: new WeakMap(),
  false: new WeakMap(),
};

/** Each variable may use those before it. One that does not compile may be anything. */
function variableTypes({ variables, hasParams }: AdmissionUse): FieldTypes {
  const known = KNOWN[`${hasParams}`];
  const types = new Map<string, Type>();
  for (const variable of variables) {
    let type = known.get(variable);
    if (type === undefined) {
      const use = { hasParams, hasAuthorizer: true, stored: true, variables: [] };
      const environment = admissionEnvironment({ ...use, role: "variable" }, types);
      const compiled = compile(environment, variable.expression);
      type = compiled.ok ? declaredType(compiled.value.type) : DYN;
      known.set(variable, type);
    }
    types.set(variable.name, type);
  }
  return types;
}

const DECLARABLE = new Set([
  "any",
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "null",
  "string",
  "timestamp",
  "uint",
]);

/** The type of a variable where it is used: objects are dynamic. */
export function declaredType(type: Type): Type {
  if (DECLARABLE.has(type.kind)) return type;
  const [first, second] = type.params;
  if (type.kind === "list") return listType(declaredType(first!));
  if (type.kind === "map") return mapType(declaredType(first!), declaredType(second!));
  return DYN;
}

/** Types by their run-time names, as faults about results show them. */
export function plainName({ name, params }: Type): string {
  return params.length === 0 ? name : `${name}(${params.map(plainName).join(", ")})`;
}
