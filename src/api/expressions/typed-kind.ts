/** Kinds whose schemas are known, as the checks of policies need them: built-in and published ones. */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import type { Kind } from "#api/kind.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { type DeclaredType, declaredObject } from "./declared-type.ts";
import { kindType } from "./kind-type.ts";
import { schemaType } from "./schema-type.ts";

export interface TypedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  /** Undefined if expressions cannot know it. */
  type(): DeclaredType | undefined;
}

export function typedKind(kind: Kind): TypedKind {
  const { group, version, names } = kind;
  const type = (): DeclaredType | undefined => kindType(kind.schema(), names.kind);
  return { group, version, kind: names.kind, plural: names.plural, type };
}

/** A kind of another group, by the schema that the API server publishes for it in OpenAPI v3. */
export interface PublishedKind extends Omit<TypedKind, "type"> {
  readonly schema: JSONSchemaProps;
}

export function typedByPublication({ schema, ...names }: PublishedKind): TypedKind {
  return { ...names, type: () => publishedType(schema, names.kind) };
}

/** The metadata of all objects is published as a reference. */
function publishedType(schema: JSONSchemaProps, name: string): DeclaredType | undefined {
  const { metadata: _, ...properties } = schema.properties ?? {};
  const own = schemaType({ ...schema, properties }, false, name);
  const metadata = kindType(configMapKind.schema(), name)?.fields?.get("metadata");
  if (own?.fields === undefined || metadata === undefined) return undefined;
  return declaredObject(name, new Map([...own.fields, ["metadata", metadata]]), own.bytesMin);
}
