/**
 * Faults of YAML in the words that clients know. Our parser names them differently, so this is a
 * translation of the common ones; the rest keep the parser's own words.
 */
import type { YAMLException } from "js-yaml";

/** Where upstream notices a fault: its scanner counts lines from one, its parser from zero. */
interface Wording {
  readonly text: string;
  readonly by: "scanner" | "parser";
}

/** The limit that clients know; ours is lower (json-syntax.ts). */
export const TOO_DEEP_YAML = "exceeded max depth of 10000";

const CANNOT_START = scanner("found character that cannot start any token");
const NO_MAPPING_HERE = scanner("mapping values are not allowed in this context");
const NO_END_OF_QUOTE = scanner("found unexpected end of stream");
const NO_NAME = scanner("did not find expected alphabetic or numeric character");
const NO_DASH = parser("did not find expected '-' indicator");

const WORDINGS: ReadonlyMap<string, Wording> = new Map([
  ["bad indentation of a mapping entry", parser("did not find expected key")],
  ["bad indentation of a sequence entry", NO_DASH],
  [
    "end of the stream or a document separator is expected",
    parser("did not find expected <document start>"),
  ],
  ["unexpected end of the stream within a single quoted scalar", NO_END_OF_QUOTE],
  ["unexpected end of the stream within a double quoted scalar", NO_END_OF_QUOTE],
  ["unexpected end of the document within a single quoted scalar", NO_END_OF_QUOTE],
  ["unexpected end of the document within a double quoted scalar", NO_END_OF_QUOTE],
  ["unknown escape sequence", scanner("found unknown escape character")],
  ["name of an anchor node must contain at least one character", NO_NAME],
  ["name of an alias node must contain at least one character", NO_NAME],
  ["expected ':' after a mapping key", scanner("could not find expected ':'")],
  ["tab characters must not be used in indentation", CANNOT_START],
  ["expected the node content, but found ','", parser("did not find expected node content")],
]);

const IN_FLOW: ReadonlySet<string> = new Set([
  "unexpected end of the stream within a flow collection",
  "missed comma between flow collection entries",
]);

export function yamlSyntaxError({ reason, mark }: YAMLException): string {
  if (mark === undefined) return `yaml: ${reason}`;
  if (reason === "the stream contains non-printable characters") {
    return "yaml: control characters are not allowed";
  }
  const { text, by } = wordingOf(reason, mark.buffer, mark.position);
  if (mark.line === 0) return `yaml: ${text}`;
  return `yaml: line ${by === "scanner" ? mark.line + 1 : mark.line}: ${text}`;
}

/** A tab before the first token: our parser would take it for a space. */
export function findLeadingTab(text: string): string | undefined {
  const [lead = ""] = /^(?:[ ]*(?:#.*)?\r?\n)*[ ]*\t/.exec(text) ?? [];
  if (lead === "") return undefined;
  const line = lead.split("\n").length;
  return `yaml: ${line === 1 ? "" : `line ${line}: `}${CANNOT_START.text}`;
}

function wordingOf(reason: string, text: string, position: number): Wording {
  if (reason.startsWith("nesting exceeded")) return scanner(TOO_DEEP_YAML);
  const character = text[position] ?? "";
  if (IN_FLOW.has(reason))
    return parser(`did not find expected ',' or '${closerAt(text, position)}'`);
  if (character === ":") return NO_MAPPING_HERE;
  if (character === "@" || character === "`") return CANNOT_START;
  if (reason.startsWith("end of the stream") && text.trimStart().startsWith("-")) return NO_DASH;
  return WORDINGS.get(reason) ?? parser(reason);
}

/** Which bracket the last open collection before the position waits for. */
function closerAt(text: string, position: number): string {
  const open: string[] = [];
  for (const c of text.slice(0, position)) {
    if (c === "[") open.push("]");
    else if (c === "{") open.push("}");
    else if (c === open.at(-1)) open.pop();
  }
  return open.at(-1) ?? "]";
}

function scanner(text: string): Wording {
  return { text, by: "scanner" };
}

function parser(text: string): Wording {
  return { text, by: "parser" };
}
