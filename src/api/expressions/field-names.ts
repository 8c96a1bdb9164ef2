/** Names of properties as expressions write them, where they are no names of the language. */
const RESERVED = new Set(
  (
    "true false null in as break const continue else for function if import let loop package " +
    "namespace return var void while"
  ).split(" "),
);
const ESCAPES: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** Undefined for names that cannot be written. */
export function escapeFieldName(name: string): string | undefined {
  if (RESERVED.has(name)) return `__${name}__`;
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(name)) return undefined;
  return name.replaceAll(/__|[./-]/g, (part) => ESCAPES[part]!);
}

const UNESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries(ESCAPES).map(([part, escaped]) => [escaped, part]),
);

export function unescapeFieldName(name: string): string {
  const word = /^__([a-z]+)__$/.exec(name)?.[1];
  if (word !== undefined && RESERVED.has(word)) return word;
  return name.replaceAll(/__[a-z]+__/g, (part) => UNESCAPES.get(part) ?? part);
}
