/** Picks the log lines of one component, in both forms that logs have. */

/** Text goes in as whole lines. Lines without a component belong to the process: they are in no selection. */
export function linesOfComponent(component: string | undefined): (text: string) => string {
  if (component === undefined) return (text) => text;
  const marks = [` component=${component}`, `"component":"${component}"`];
  const belongs = (line: string): boolean =>
    marks.some((mark) => {
      const end = line.indexOf(mark) + mark.length;
      return end >= mark.length && !/[\w-]/.test(line[end] ?? "");
    });
  return (text) =>
    text
      .split("\n")
      .filter((line) => belongs(line))
      .map((line) => `${line}\n`)
      .join("");
}

/** The components that have logged something. */
export function componentsIn(texts: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const text of texts) {
    for (const [, plain, quoted] of text.matchAll(NAMED)) found.add(plain ?? quoted ?? "");
  }
  return found;
}

const NAMED = / component=([\w-]+)|"component":"([\w-]+)"/g;
