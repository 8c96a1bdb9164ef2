/**
 * Descriptions of table columns. They come from the API's documentation, which is large: only those of
 * columns are kept, and it is read for the first table.
 */
import type { Kind } from "#api/kind.ts";
import type { Prose } from "#api/openapi/definition.ts";
import { schemaOf } from "#api/schema/from-facts.ts";

type Column = Kind["columns"][number];

export class ColumnDescriptions {
  readonly #kinds: Iterable<Kind>;
  readonly #prose: () => Prose;
  #texts: ReadonlyMap<string, string> | undefined;

  constructor(kinds: Iterable<Kind>, prose: () => Prose) {
    this.#kinds = kinds;
    this.#prose = prose;
  }

  of({ description, describedBy }: Column): string {
    if (description !== undefined || describedBy === undefined) return description ?? "";
    this.#texts ??= this.#read();
    return this.#texts.get(describedBy) ?? "";
  }

  #read(): ReadonlyMap<string, string> {
    const prose = this.#prose();
    const texts = new Map<string, string>();
    for (const { columns } of this.#kinds) {
      for (const { describedBy } of columns) {
        if (describedBy === undefined || texts.has(describedBy)) continue;
        const dot = describedBy.lastIndexOf(".");
        const struct = schemaOf(describedBy.slice(0, dot)).name;
        texts.set(describedBy, prose.field(struct, describedBy.slice(dot + 1)) ?? "");
      }
    }
    return texts;
  }
}
