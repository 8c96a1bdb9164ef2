/** Sets of fields in the light of a schema. */
import type { Schema } from "#api/schema/schema.ts";
import { type FieldSet, isEmptySet, LEAF } from "./field-set.ts";
import { declaredField, itemSchema, memberSchema } from "./typed-values.ts";

/** The set with every declared field a member that has members below it. */
export function withNamedFields(set: FieldSet, schema: Schema): FieldSet {
  return mapChildren(set, schema, (element, node, childSchema) => {
    if (isEmptySet(node)) return node;
    const children = withNamedFields(node, childSchema);
    const named = element.startsWith("f:") && declaredField(schema, element.slice(2)) !== undefined;
    return named && children["."] === undefined ? { ".": LEAF, ...children } : children;
  });
}

/**
 * The set after a change of the schema: a value that is atomic now is owned by each manager that
 * owned a part of it.
 */
export function reconciled(set: FieldSet, schema: Schema): FieldSet {
  const known = reconciledSets.get(set);
  if (known?.schema === schema) return known.result;
  const result = reconcileChildren(set, schema);
  reconciledSets.set(set, { schema, result });
  reconciledSets.set(result, { schema, result });
  return result;
}

// Memory of pure results: most sets are looked at on every write and never change.
const reconciledSets = new WeakMap<FieldSet, { schema: Schema; result: FieldSet }>();

function reconcileChildren(set: FieldSet, schema: Schema): FieldSet {
  return mapChildren(set, schema, (_, node, childSchema) => {
    if (isEmptySet(node)) return node;
    return isOneValue(childSchema) ? LEAF : reconcileChildren(node, childSchema);
  });
}

function isOneValue(schema: Schema): boolean {
  if (schema.shape === "list") return schema.listType === "atomic";
  return (schema.shape === "struct" || schema.shape === "map") && schema.atomic;
}

type Mapper = (element: string, node: FieldSet, schema: Schema) => FieldSet;

/** The set itself if no child changes. */
function mapChildren(set: FieldSet, schema: Schema, map: Mapper): FieldSet {
  let result: Record<string, FieldSet> | undefined;
  for (const element in set) {
    if (element === ".") continue;
    const node = set[element]!;
    const isField = element.startsWith("f:");
    const mapped = map(
      element,
      node,
      isField ? memberSchema(schema, element.slice(2)) : itemSchema(schema),
    );
    if (mapped === node) continue;
    result ??= { ...set };
    result[element] = mapped;
  }
  return result ?? set;
}
