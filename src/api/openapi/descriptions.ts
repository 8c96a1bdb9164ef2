/** DescriptionTable of types and fields, read from the file that the build makes, as OpenAPI wants them. */
import type { Descriptions } from "./definition.ts";

/** By definition name. */
export type DescriptionTable = Readonly<
  Record<string, { readonly type: string; readonly fields: Readonly<Record<string, string>> }>
>;

export function descriptionsFrom(descriptions: DescriptionTable): Descriptions {
  return {
    type: (definition) => descriptions[definition]?.type || undefined,
    field: (definition, field) => descriptions[definition]?.fields[field] || undefined,
  };
}
