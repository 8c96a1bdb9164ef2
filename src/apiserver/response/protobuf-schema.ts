/** Which message a value is written as: its kind's own, or one of those that every group shares. */
import { findSchema, findSchemaOfKind } from "#api/schema/from-facts.ts";
import type { StructSchema } from "#api/schema/schema.ts";
import type { ApiValue } from "./answer.ts";

export function protobufSchemaOf({ kind = "", apiVersion = "" }: ApiValue): StructSchema {
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const own = findSchemaOfKind(group, apiVersion.slice(slash + 1), kind);
  const schema = own ?? findSchema(`meta.v1.${kind}`);
  if (schema === undefined) throw new Error(`${apiVersion} ${kind} has no protobuf message`);
  return schema;
}
