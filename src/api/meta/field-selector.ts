/**
 * Field selectors (`metadata.name=a,status.phase!=Running`): equality of a few named fields.
 * A backslash escapes comma, equals sign and backslash in values. A field that an object does not
 * have counts as empty.
 */
import { goQuote } from "./go-quote.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** All requirements must hold; none at all selects everything. */
export type FieldSelector = readonly FieldRequirement[];

export type ParsedFieldSelector =
  | { readonly ok: true; readonly value: FieldSelector }
  | { readonly ok: false; readonly error: string };

export function parseFieldSelector(text: string): ParsedFieldSelector {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text).sort()) {
    if (term === "") continue;
    const [, field, sign, escaped = ""] = TERM.exec(term) ?? [];
    if (field === undefined) {
      return { ok: false, error: `invalid selector: '${text}'; can't understand '${term}'` };
    }
    const value = unescapeValue(escaped);
    if (!value.ok) return value;
    if (field === "" && value.text === "") continue; // nothing of nothing selects everything
    requirements.push({ field, operator: sign === "!=" ? "!=" : "=", value: value.text });
  }
  return { ok: true, value: requirements };
}

export function formatFieldSelector(selector: FieldSelector): string {
  return selector
    .map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, "\\$&")}`)
    .join(",");
}

export function matchesFields(
  selector: FieldSelector,
  fields: Readonly<Record<string, string>>,
): boolean {
  return selector.every(({ field, operator, value }) => {
    const actual = Object.hasOwn(fields, field) ? fields[field] : "";
    return (actual === value) === (operator === "=");
  });
}

/** The one value that a field must have, if the selector names it. */
export function exactField(selector: FieldSelector, field: string): string | undefined {
  return selector.find((one) => one.field === field && one.operator === "=")?.value;
}

/** For a kind that can only be selected by name and namespace. */
export function unknownFieldText(field: string): string {
  return `${goQuote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

/** For a kind with selectable fields of its own; some of them say which kind they are. */
export function unsupportedFieldText(field: string, kind?: string): string {
  return `field label not supported${kind === undefined ? "" : ` for ${kind}`}: ${field}`;
}

const TERM = /^(.*?)(!=|==|=)(.*)$/s;

/** At every comma that no backslash escapes. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  return [...terms, text.slice(start)];
}

type Unescaped =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly error: string };

function unescapeValue(escaped: string): Unescaped {
  let text = "";
  const chars = [...escaped];
  for (let at = 0; at < chars.length; at++) {
    let char = chars[at]!;
    if (char === "\\") {
      char = chars[++at] ?? "";
      if (!["\\", ",", "="].includes(char)) {
        return { ok: false, error: `invalid field selector: invalid escape sequence: \\${char}` };
      }
    } else if (char === "," || char === "=") {
      const code = char.charCodeAt(0);
      return { ok: false, error: `invalid field selector: unescaped character in value: ${code}` };
    }
    text += char;
  }
  return { ok: true, text };
}
