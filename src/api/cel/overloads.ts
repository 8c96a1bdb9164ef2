/** Which overloads of a function take these arguments, and what they give. */
import type { FunctionDeclaration } from "./declarations.ts";
import type { Inference } from "./types/inference.ts";
import { DYN, isDyn, isSameType, paramType, type Type } from "./types/type.ts";

export interface Matching {
  readonly overloads: readonly string[];
  /** Dynamic if they do not agree. */
  readonly result: Type;
}

export interface Call {
  /** Of the target too, if there is one: it comes first. */
  readonly argTypes: readonly Type[];
  readonly member: boolean;
  /** Numbers of one type may be compared with those of another. */
  readonly crossTypeComparisons: boolean;
}

/** Undefined if none does. What the arguments' types turn out to be is left in `inference`. */
export function matchOverloads(
  { overloads }: FunctionDeclaration,
  { argTypes, member, crossTypeComparisons }: Call,
  inference: Inference,
): Matching | undefined {
  const matching: string[] = [];
  let result: Type | undefined;
  for (const overload of overloads) {
    if (overload.member !== member) continue;
    if (!crossTypeComparisons && CROSS_TYPE.test(overload.id)) continue;
    const params = new Map(overload.typeParams.map((name) => [name, inference.fresh()]));
    const wanted = overload.args.map((arg) => renameParams(arg, params));
    if (!inference.assignAll(argTypes, wanted)) continue;
    matching.push(overload.id);
    const given = inference.substitute(renameParams(overload.result, params), false);
    if (result === undefined) result = given;
    else if (!isDyn(result) && !isSameType(given, result)) result = DYN;
  }
  return result === undefined ? undefined : { overloads: matching, result };
}

const CROSS_TYPE =
  /^(?:less|greater)(?:_equals)?_(?:int64_(?:double|uint64)|uint64_(?:double|int64)|double_(?:int64|uint64))$/;

function renameParams(type: Type, params: ReadonlyMap<string, Type>): Type {
  if (type.kind === "param") return params.get(type.name) ?? paramType(type.name);
  if (type.params.length === 0) return type;
  return { ...type, params: type.params.map((param) => renameParams(param, params)) };
}
