/** Text of containers without what controls a terminal: colours, cursor moves, titles, links. Pure. */
const ESCAPE = String.fromCharCode(0x1b);
const BELL = String.fromCharCode(0x07);
const TERMINATOR = `(?:${BELL}|${ESCAPE}\\\\)?`;

/** ECMA-48: control sequences, strings (titles, links), and escapes of two characters. */
const ESCAPES = new RegExp(
  [
    `${ESCAPE}\\[[0-?]*[ -/]*[@-~]`,
    `${ESCAPE}[\\]PX^_][^${BELL}${ESCAPE}]*${TERMINATOR}`,
    `${ESCAPE}[ -/]*[0-~]`,
  ].join("|"),
  "g",
);
/** Tabs stay. Characters that change the direction of text could make a line look like another. */
const CONTROLS = /(?!\t)[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

export function plainText(text: string): string {
  return text.replace(ESCAPES, "").replace(CONTROLS, "");
}
