/**
 * The text of an expression and places in it. Offsets count UTF-16 units; lines count from 1 and
 * columns from 0 in code points, as cel-go shows them.
 */
export interface Source {
  readonly text: string;
  readonly lineStarts: readonly number[];
}

export interface Location {
  readonly line: number;
  readonly column: number;
}

/** For faults of the expression as a whole. */
export const NO_LOCATION: Location = { line: -1, column: -1 };

export function createSource(text: string): Source {
  const lineStarts = [0];
  for (let i = text.indexOf("\n"); i !== -1; i = text.indexOf("\n", i + 1)) lineStarts.push(i + 1);
  return { text, lineStarts };
}

export function locationOf({ text, lineStarts }: Source, offset: number): Location {
  if (text === "") return { line: 1, column: -1 }; // the end of nothing lies before its beginning
  let line = 1;
  while (line < lineStarts.length && lineStarts[line]! <= offset) line++;
  return { line, column: codePointCount(text.slice(lineStarts[line - 1]!, offset)) };
}

/** The text of a line, without its end. */
export function lineOf({ text, lineStarts }: Source, line: number): string | undefined {
  if (line < 1 || line > lineStarts.length || text === "") return undefined;
  const next = lineStarts[line];
  return text.slice(lineStarts[line - 1]!, next === undefined ? undefined : next - 1);
}

export function codePointCount(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if (isHighSurrogate(text.charCodeAt(i)) && isLowSurrogate(text.charCodeAt(i + 1))) count--;
  }
  return count;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
