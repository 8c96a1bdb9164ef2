/** Completions for one kind, from the OpenAPI v3 document of its group. The document is asked for once. */
import type { Resource } from "../models/resources.ts";
import {
  type Completions,
  type OpenApiDocument,
  schemaCompletions,
  schemaOfKind,
} from "../models/schema-completions.ts";
import { callApi } from "./api.ts";

export function completionsFor({
  group,
  version,
  kind,
}: Pick<Resource, "group" | "version" | "kind">): (
  text: string,
  offset: number,
) => Promise<Completions> {
  const root = group === "" ? `api/${version}` : `apis/${group}/${version}`;
  let asked: Promise<OpenApiDocument> | undefined;
  return async (text, offset) => {
    // Without a document there are no completions; the editor works without them.
    asked ??= callApi<OpenApiDocument>(`/openapi/v3/${root}`).catch(() => ({}));
    const document = await asked;
    const schema = schemaOfKind(document, { group, version, kind });
    if (schema === undefined) return { from: offset, options: [] };
    return schemaCompletions(document, schema, text, offset);
  };
}
