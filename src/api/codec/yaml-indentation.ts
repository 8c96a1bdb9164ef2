/**
 * Lines inside quoted scalars and flow collections may begin at any column for upstream's reader,
 * while ours wants them deeper than their parent. Spaces at their beginning mean nothing, so such
 * lines are indented where our reader stops, and the text is read again.
 */
import { YAMLException } from "js-yaml";

/** How much may be read again in all: a hostile text costs no more than one of this length. */
const READ_AGAIN_CHARACTERS_MAX = 1024 * 1024;
/** What an attempt costs beyond the length of the text. */
const ATTEMPT_CHARACTERS = 1024;

/** Calls `read` with the text, and while it throws for missing indentation, with an indented one. */
export function readIndented<T>(text: string, read: (text: string) => T): T {
  let left = READ_AGAIN_CHARACTERS_MAX;
  let spaces: string | undefined;
  for (let current = text; ; ) {
    try {
      return read(current);
    } catch (error) {
      left -= current.length + ATTEMPT_CHARACTERS;
      if (left < 0) throw error;
      spaces ??= " ".repeat(deepestIndentation(text) + 1);
      const indented = indentedAt(current, error, spaces);
      if (indented === undefined) throw error;
      current = indented;
    }
  }
}

function indentedAt(text: string, error: unknown, spaces: string): string | undefined {
  if (!(error instanceof YAMLException) || error.mark === undefined) return undefined;
  if (error.reason !== "deficient indentation") return undefined;
  const start = text.lastIndexOf("\n", error.mark.position - 1) + 1;
  if (start === 0) return undefined;
  const end = endOfInside(text, start);
  const inside = text.slice(start, end);
  if (inside === "" || inside.split("\n").length * spaces.length > READ_AGAIN_CHARACTERS_MAX) {
    return undefined;
  }
  const lines = inside.replace(/^(?=.)/gm, spaces);
  return text.slice(0, start) + lines + text.slice(end);
}

/** Behind the first line that may close the scalar or the collection; markers of documents end both. */
const CLOSING = /["'\]}].*$|^(?:---|\.\.\.)(?:\s|$)/m;

function endOfInside(text: string, start: number): number {
  const closing = CLOSING.exec(text.slice(start));
  if (closing === null) return text.length;
  const isMarker = /^[-.]/.test(closing[0]);
  return start + closing.index + (isMarker ? 0 : closing[0].length);
}

/** No parent is deeper than the deepest line, a dash counting as indentation. */
function deepestIndentation(text: string): number {
  let deepest = 0;
  for (const [lead] of text.matchAll(/^[ -]*/gm)) deepest = Math.max(deepest, lead.length);
  return deepest;
}
