/**
 * Descriptions of types and fields as one text, which the build makes: a line for each definition, its
 * name, a tab and its texts as JSON.
 *
 * Promises: reading the text costs one look at each line. A line is parsed when its definition is first
 * asked for.
 */
import type { Descriptions } from "./definition.ts";

/** By definition name. */
export type DescriptionTable = Readonly<Record<string, DefinitionTexts>>;

interface DefinitionTexts {
  readonly type: string;
  readonly fields: Readonly<Record<string, string>>;
}

const TAB = 0x09;
const NEWLINE = 0x0a;

export function descriptionLines(table: DescriptionTable): string {
  return Object.entries(table)
    .map(([name, texts]) => `${name}\t${JSON.stringify(texts)}\n`)
    .join("");
}

/** `lines`: UTF-8 of what `descriptionLines` returns. */
export function descriptionsFrom(lines: Buffer): Descriptions {
  const ranges = new Map<string, readonly [start: number, end: number]>();
  for (let start = 0; start < lines.length; ) {
    const end = lines.indexOf(NEWLINE, start);
    const tab = lines.indexOf(TAB, start);
    ranges.set(lines.toString("latin1", start, tab), [tab + 1, end]);
    start = end + 1;
  }
  const parsed = new Map<string, DefinitionTexts>();
  const textsOf = (definition: string): DefinitionTexts | undefined => {
    const known = parsed.get(definition);
    const range = ranges.get(definition);
    if (known !== undefined || range === undefined) return known;
    const texts = JSON.parse(lines.toString("utf8", ...range)) as DefinitionTexts;
    parsed.set(definition, texts);
    return texts;
  };
  return {
    type: (definition) => textsOf(definition)?.type || undefined,
    field: (definition, field) => textsOf(definition)?.fields[field] || undefined,
  };
}
