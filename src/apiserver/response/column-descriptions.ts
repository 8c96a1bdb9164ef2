/**
 * Descriptions of table columns. They come from the API's documentation, which is large: only those of
 * columns are kept, and it is read for the first table.
 */
import type { Kind } from "#api/kind.ts";
import type { Descriptions } from "#api/openapi/definition.ts";
import { schemaOf } from "#api/schema/from-facts.ts";

type Column = Kind["columns"][number];

/**
 * What OpenAPI's description of a field has and a column's has not: the values of an enum, which OpenAPI
 * adds, and a sentence about roleRef, since upstream describes columns of bindings with the older v1beta1.
 */
const OPENAPI_ONLY = /\n\nPossible enum values:| This field is immutable\.$/;

export class ColumnDescriptions {
  readonly #kinds: Iterable<Kind>;
  readonly #descriptions: () => Descriptions;
  #texts: ReadonlyMap<string, string> | undefined;

  constructor(kinds: Iterable<Kind>, descriptions: () => Descriptions) {
    this.#kinds = kinds;
    this.#descriptions = descriptions;
  }

  of({ description, describedBy }: Column): string {
    if (description !== undefined || describedBy === undefined) return description ?? "";
    this.#texts ??= this.#read();
    return this.#texts.get(describedBy) ?? "";
  }

  #read(): ReadonlyMap<string, string> {
    const descriptions = this.#descriptions();
    const texts = new Map<string, string>();
    for (const { columns } of this.#kinds) {
      for (const { describedBy } of columns) {
        if (describedBy === undefined || texts.has(describedBy)) continue;
        const dot = describedBy.lastIndexOf(".");
        const struct = schemaOf(describedBy.slice(0, dot)).name;
        const text = descriptions.field(struct, describedBy.slice(dot + 1)) ?? "";
        texts.set(describedBy, text.split(OPENAPI_ONLY, 1)[0]!);
      }
    }
    return texts;
  }
}
