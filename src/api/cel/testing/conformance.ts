/** The conformance cases of the language, in terms of ours. Those about protocol buffers are left out. */
import { tests } from "@bufbuild/cel-spec/testdata/conformance.js";
import {
  createEnvironment,
  type Environment,
  extendEnvironment,
  withLibraries,
} from "../environment.ts";
import { optionalsLibrary } from "../libraries/optionals.ts";
import { standardLibrary } from "../libraries/standard.ts";
import { stringReverseLibrary, stringsLibrary } from "../libraries/strings.ts";
import { twoVariableLibrary } from "../libraries/two-variable.ts";
import { BIND_MACRO } from "../syntax/macros.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listType,
  mapType,
  NULL,
  opaqueType,
  paramType,
  STRING,
  TIMESTAMP,
  type Type,
  typeType,
  UINT,
} from "../types/type.ts";
import { ArrayList, EntryMap, TypeValue, Uint, type Value } from "../values/value.ts";

// The cases are protocol buffers written as JSON, of which this reads what it needs.
interface Case {
  readonly name: string;
  readonly expr: string;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
  readonly typeEnv?: readonly { name: string; ident?: { type: JsonType }; function?: object }[];
  readonly bindings?: Readonly<Record<string, { value: JsonValue }>>;
  readonly value?: JsonValue;
  readonly evalError?: object;
  readonly typedResult?: { readonly result?: JsonValue };
}
type JsonType = Readonly<Record<string, unknown>>;
type JsonValue = Readonly<Record<string, unknown>>;

export interface ConformanceCase {
  readonly path: string;
  readonly expr: string;
  readonly environment: Environment;
  readonly bindings: ReadonlyMap<string, Value>;
  readonly isChecked: boolean;
  readonly onlyChecked: boolean;
  /** Undefined if an error is wanted. */
  readonly value: Value | undefined;
  /** The type that cel-go deduces. */
  readonly type: string | undefined;
}

const WITHOUT_MESSAGES = new Set([
  "basic",
  "bindings_ext",
  "comparisons",
  "conversions",
  "fields",
  "fp_math",
  "integer_math",
  "lists",
  "logic",
  "macros",
  "macros2",
  "namespace",
  "optionals",
  "parse",
  "plumbing",
  "string",
  "string_ext",
  "timestamps",
  "type_deductions",
]);
const ABOUT_MESSAGES =
  /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|cel\.expr|messageType|NullValue|objectValue|wrapper|wellKnown":"ANY/;

/** Later versions of the library answer an error where the one of Kubernetes 1.36 gives -1. */
const LATER = new Set(["indexof_out_of_range", "lastindexof_out_of_range"]);

const BASE = {
  libraries: [
    standardLibrary,
    stringsLibrary,
    stringReverseLibrary,
    optionalsLibrary,
    twoVariableLibrary,
    { functions: {}, macros: [BIND_MACRO] },
  ],
  optionalSyntax: true,
};

export function conformanceCases(): ConformanceCase[] {
  const cases: ConformanceCase[] = [];
  for (const section of tests.suites ?? []) {
    if (!WITHOUT_MESSAGES.has(section.name)) continue;
    const visit = (suite: typeof section, path: string): void => {
      for (const test of suite.tests ?? []) {
        const original = test.original as unknown as Case;
        if (ABOUT_MESSAGES.test(JSON.stringify(test.original))) continue;
        if (LATER.has(original.name)) continue;
        const { typeEnv = [] } = original;
        cases.push({
          path: `${path}/${original.name}`,
          expr: original.expr,
          environment: environmentOf(typeEnv, original.container),
          bindings: bindingsOf(original.bindings),
          isChecked: original.disableCheck !== true,
          onlyChecked: original.checkOnly === true,
          value: wantedValue(original),
          type: test.type,
        });
      }
      for (const inner of suite.suites ?? []) visit(inner, `${path}/${inner.name}`);
    };
    visit(section, section.name);
  }
  return cases;
}

function wantedValue({ value, typedResult, evalError, checkOnly }: Case): Value | undefined {
  if (evalError !== undefined) return undefined;
  const wanted = value ?? typedResult?.result;
  if (wanted !== undefined) return celValue(wanted);
  return checkOnly === true ? null : true;
}

function bindingsOf(bindings: Case["bindings"] = {}): ReadonlyMap<string, Value> {
  return new Map(Object.entries(bindings).map(([name, { value }]) => [name, celValue(value)]));
}

function environmentOf(typeEnv: NonNullable<Case["typeEnv"]>, container = ""): Environment {
  const variables: Record<string, Type> = {};
  const functions: Record<string, () => Value> = {};
  for (const { name, ident, function: declared } of typeEnv) {
    if (ident !== undefined) variables[name] = typeOfJson(ident.type);
    for (const overload of overloadsOf(declared)) functions[overload(name)] = () => null;
  }
  const environment = createEnvironment({ ...BASE, container });
  return extendEnvironment(withLibraries(environment, [{ functions }]), variables);
}

function overloadsOf(declared: object | undefined): ((name: string) => string)[] {
  const { overloads = [] } = (declared ?? {}) as {
    overloads?: { overloadId: string; params?: JsonType[]; resultType: JsonType }[];
  };
  const show = (type: JsonType): string => {
    const { kind, name, params } = typeOfJson(type);
    if (params.length === 0) return kind === "param" ? name : kind;
    const inner = params.map((_, i) => show(paramsOf(type)[i]!));
    const shown = name === "optional_type" ? "optional" : name;
    return `${shown}(${inner.join(", ")})`;
  };
  return overloads.map(({ overloadId, params = [], resultType }) => (name) => {
    return `${overloadId} ${name}(${params.map(show).join(", ")}) -> ${show(resultType)}`;
  });
}

function paramsOf(type: JsonType): JsonType[] {
  const { listType: list, mapType: map, abstractType: opaque } = type as Record<string, JsonType>;
  if (list !== undefined) return [list.elemType as JsonType];
  if (map !== undefined) return [map.keyType as JsonType, map.valueType as JsonType];
  return (opaque?.parameterTypes ?? []) as JsonType[];
}

const PRIMITIVES: Readonly<Record<string, Type>> = {
  BOOL,
  INT64: INT,
  UINT64: UINT,
  DOUBLE,
  STRING,
  BYTES,
  TIMESTAMP,
  DURATION,
};

function typeOfJson(type: JsonType): Type {
  const params = paramsOf(type).map(typeOfJson);
  if ("listType" in type) return listType(params[0]!);
  if ("mapType" in type) return mapType(params[0]!, params[1]!);
  if ("typeParam" in type) return paramType(type.typeParam as string);
  if ("null" in type) return NULL;
  if ("type" in type) return typeType(DYN);
  if ("abstractType" in type) {
    return opaqueType((type.abstractType as { name: string }).name, ...params);
  }
  const name = (type.primitive ?? type.wellKnown) as string | undefined;
  return (name === undefined ? undefined : PRIMITIVES[name]) ?? DYN;
}

const TYPE_NAMES: Readonly<Record<string, Type>> = {
  bool: BOOL,
  int: INT,
  uint: UINT,
  double: DOUBLE,
  string: STRING,
  bytes: BYTES,
  null_type: NULL,
  list: listType(DYN),
  map: mapType(DYN, DYN),
  type: typeType(undefined),
  "google.protobuf.Timestamp": TIMESTAMP,
  "google.protobuf.Duration": DURATION,
  optional_type: opaqueType("optional_type", DYN),
};

function celValue(json: JsonValue): Value {
  const [[kind, raw] = ["nullValue", null]] = Object.entries(json);
  switch (kind) {
    case "int64Value":
      return BigInt(raw as string);
    case "uint64Value":
      return new Uint(BigInt(raw as string));
    case "doubleValue":
      return Number(raw);
    case "bytesValue":
      return Uint8Array.from(atob(raw as string), (char) => char.charCodeAt(0));
    case "listValue": {
      const { values = [] } = raw as { values?: JsonValue[] };
      return new ArrayList(values.map(celValue));
    }
    case "mapValue": {
      const { entries = [] } = raw as { entries?: { key: JsonValue; value: JsonValue }[] };
      return new EntryMap(entries.map(({ key, value }) => [celValue(key), celValue(value)]));
    }
    case "typeValue":
      return new TypeValue(TYPE_NAMES[raw as string] ?? opaqueType(raw as string));
    default:
      return raw as Value;
  }
}
