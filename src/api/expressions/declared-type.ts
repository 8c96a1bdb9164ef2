/** Types of data with their sizes, for the checker and for what expressions may cost. */
import type { Estimate } from "#api/cel/cost/estimate.ts";
import type { CostEstimator } from "#api/cel/cost/static-cost.ts";
import type { TypeProvider } from "#api/cel/declarations.ts";
import { listType, mapType, objectType, STRING, type Type } from "#api/cel/types/type.ts";

export interface DeclaredType {
  readonly type: Type;
  /** Bytes of text, elements of lists, entries of maps: so many at most. */
  readonly sizeMax: number;
  /** Bytes of the smallest value as JSON. */
  readonly bytesMin: number;
  readonly element?: DeclaredType;
  readonly key?: DeclaredType;
  readonly fields?: ReadonlyMap<string, DeclaredType>;
}

const CONTAINER_BYTES_MIN = 2;

/** Numbers and objects count as having no size. */
export function simpleType(type: Type, bytesMin: number, sizeMax = 0): DeclaredType {
  return { type, bytesMin, sizeMax };
}

export const STRING_KEY: DeclaredType = simpleType(STRING, 2);

export function declaredList(element: DeclaredType, sizeMax: number): DeclaredType {
  return { type: listType(element.type), sizeMax, bytesMin: CONTAINER_BYTES_MIN, element };
}

export function declaredMap(
  key: DeclaredType,
  element: DeclaredType,
  sizeMax: number,
): DeclaredType {
  const type = mapType(key.type, element.type);
  return { type, sizeMax, bytesMin: CONTAINER_BYTES_MIN, key, element };
}

export function declaredObject(
  name: string,
  fields: ReadonlyMap<string, DeclaredType>,
  bytesMin = CONTAINER_BYTES_MIN,
): DeclaredType {
  return { type: objectType(name), sizeMax: 0, bytesMin, fields };
}

const RESERVED_FIELD =
  /^(?:true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while)$/;

/** All object types inside of one. */
export function typesIn(root: DeclaredType): TypeProvider {
  const found = new Map<string, ReadonlyMap<string, DeclaredType>>();
  const collect = ({ type, fields, element }: DeclaredType): void => {
    if (fields !== undefined) found.set(type.name, fields);
    for (const field of fields?.values() ?? []) collect(field);
    if (element !== undefined) collect(element);
  };
  collect(root);
  return {
    findType: (name) => (found.has(name) ? objectType(name) : undefined),
    findField: (typeName, field) => {
      const fields = found.get(typeName);
      // Words of the language are also fields as they are.
      const escaped = RESERVED_FIELD.test(field) ? fields?.get(`__${field}__`) : undefined;
      return (fields?.get(field) ?? escaped)?.type;
    },
  };
}

/** Sizes along paths from variables; `fallback` is for steps that lead to no field. */
export function sizesIn(
  rootOf: (variable: string) => DeclaredType | undefined,
  fallback?: (at: DeclaredType) => DeclaredType | undefined,
): CostEstimator["size"] {
  return ({ path }): Estimate | undefined => {
    const [variable, ...steps] = path;
    let at = variable === undefined ? undefined : rootOf(variable);
    for (const step of steps) {
      if (at === undefined) return undefined;
      if (step === "@items" || step === "@values") at = at.element;
      else if (step === "@keys") at = at.key;
      else at = at.fields?.get(step) ?? fallback?.(at);
    }
    return at === undefined ? undefined : { min: 0, max: at.sizeMax };
  };
}
