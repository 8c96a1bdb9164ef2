/**
 * Defaults of a structural schema, and nulls. A null in a field that is not nullable counts as absent:
 * it becomes the default, or is removed where there is none. Server-side apply sets defaults only:
 * there such a null is refused by validation.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { finish, type Steps } from "#lib/async/steps.ts";
import { prune } from "./prune.ts";
import { additionalSchema, itemsSchema, SchemaFact, STEP_NODES } from "./walk.ts";

type Members = Record<string, unknown>;

/** Removes nulls that are neither allowed nor replaced by a default. Changes the value in place. */
export function* dropNullSteps(value: unknown, schema: JSONSchemaProps | undefined): Steps<void> {
  yield* walk(value, schema, {
    member: (members, key, inner) => {
      const isAllowed = inner.nullable || inner.default !== undefined;
      if (members[key] === null && !isAllowed) delete members[key];
    },
  });
}

/** Changes the value in place. Defaults are copied. */
export function applyDefaults(value: unknown, schema: JSONSchemaProps | undefined): void {
  finish(defaultSteps(value, schema));
}

/** The same in steps: large objects take long. */
export function* defaultSteps(value: unknown, schema: JSONSchemaProps | undefined): Steps<void> {
  if (schema === undefined || !hasDefaults.holds(schema)) return;
  yield* walk(value, schema, {
    enter: setMissing,
    member: (members, key, inner) => {
      if (members[key] === null && isReplaced(inner)) members[key] = defaultOf(inner);
    },
    item: (items, index, inner) => {
      if (items[index] === null && isReplaced(inner)) items[index] = defaultOf(inner);
    },
  });
}

const hasDefaults = new SchemaFact(({ default: value }) => value !== undefined);

/** A copy, without unknown fields in the metadata of embedded resources, which definitions may have. */
function defaultOf(schema: JSONSchemaProps): unknown {
  const value: unknown = schema.default;
  return typeof value === "object" ? structuredClone(prune(value, schema)) : value;
}

function isReplaced(schema: JSONSchemaProps): boolean {
  return !schema.nullable && schema.default !== undefined;
}

function setMissing(members: Members, { properties }: JSONSchemaProps): void {
  if (properties === undefined) return;
  for (const [key, property] of Object.entries(properties)) {
    if (property.default === undefined || Object.hasOwn(members, key)) continue;
    members[key] = defaultOf(property);
  }
}

/** What is done to an object before its members, to each member and to each item that has a schema. */
interface Visitor {
  enter?(members: Members, schema: JSONSchemaProps): void;
  member(members: Members, key: string, inner: JSONSchemaProps): void;
  item?(items: unknown[], index: number, inner: JSONSchemaProps): void;
}

/** What the visitor leaves is walked through afterwards, with a stack, so that the walk can pause anywhere. */
function* walk(
  root: unknown,
  rootSchema: JSONSchemaProps | undefined,
  visitor: Visitor,
): Steps<void> {
  const pending: { readonly value: object; readonly schema: JSONSchemaProps }[] = [];
  const add = (value: unknown, schema: JSONSchemaProps | undefined): void => {
    if (schema === undefined || typeof value !== "object" || value === null) return;
    pending.push({ value, schema });
  };
  add(root, rootSchema);
  for (let done = 1; pending.length > 0; done++) {
    const { value, schema } = pending.pop()!;
    if (Array.isArray(value)) {
      const inner = itemsSchema(schema);
      for (let i = 0; inner !== undefined && i < value.length; i++) {
        visitor.item?.(value, i, inner);
        add(value[i], inner);
      }
    } else {
      const members = value as Members;
      visitor.enter?.(members, schema);
      for (const key of Object.keys(members)) {
        const inner = childOf(schema, key);
        if (inner === undefined) continue;
        visitor.member(members, key, inner);
        add(members[key], inner);
      }
    }
    if (done % STEP_NODES === 0) yield;
  }
}

function childOf(schema: JSONSchemaProps, key: string): JSONSchemaProps | undefined {
  const { properties } = schema;
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  return additionalSchema(schema);
}
