/** Ways through a JSON schema: its children, and questions about any part of it. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";

/** Objects and lists of a value that are walked through in one step: about a millisecond. */
export const STEP_NODES = 1000;

/** The schema in `items`, unless it is a list of schemas (which structural schemas forbid). */
export function itemsSchema({ items }: JSONSchemaProps): JSONSchemaProps | undefined {
  return isSchemaList(items) ? undefined : items;
}

export function itemsSchemas({ items }: JSONSchemaProps): readonly JSONSchemaProps[] {
  return isSchemaList(items) ? items : [];
}

export function additionalSchema({
  additionalProperties: additional,
}: JSONSchemaProps): JSONSchemaProps | undefined {
  return typeof additional === "object" ? additional : undefined;
}

/** Whether the predicate holds for the schema or for anything below it. */
export function someSchema(
  schema: JSONSchemaProps | undefined,
  predicate: (schema: JSONSchemaProps) => boolean,
): boolean {
  if (schema === undefined) return false;
  return predicate(schema) || childrenOf(schema).some((child) => someSchema(child, predicate));
}

/** Whether the predicate holds anywhere in a schema; found once for each schema. */
export class SchemaFact {
  readonly #known = new WeakMap<JSONSchemaProps, boolean>();
  readonly #predicate: (schema: JSONSchemaProps) => boolean;

  constructor(predicate: (schema: JSONSchemaProps) => boolean) {
    this.#predicate = predicate;
  }

  holds(schema: JSONSchemaProps): boolean {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const found = someSchema(schema, this.#predicate);
    this.#known.set(schema, found);
    return found;
  }
}

function childrenOf(schema: JSONSchemaProps): JSONSchemaProps[] {
  const { allOf = [], anyOf = [], oneOf = [], not, additionalItems } = schema;
  const { properties = {}, patternProperties = {}, definitions = {}, dependencies = {} } = schema;
  const optional = [itemsSchema(schema), not, additionalSchema(schema), additionalItems];
  return [
    ...itemsSchemas(schema),
    ...allOf,
    ...anyOf,
    ...oneOf,
    ...Object.values(properties),
    ...Object.values(patternProperties),
    ...Object.values(definitions),
    ...optional.filter((child) => typeof child === "object"),
    ...Object.values(dependencies).flatMap((child) => (isNameList(child) ? [] : [child])),
  ];
}

function isSchemaList(items: JSONSchemaProps["items"]): items is readonly JSONSchemaProps[] {
  return Array.isArray(items);
}

function isNameList(child: JSONSchemaProps | readonly string[]): child is readonly string[] {
  return Array.isArray(child);
}
