/**
 * Reads Prometheus' text format (also what OpenMetrics adds to it, except exemplars, which are ignored).
 * Pure. Lines that are not samples are passed over, so that one bad line does not hide the others.
 */

export interface MetricLine {
  readonly name: string;
  /** The text between the braces, "" without any. The same labels give the same text in every family. */
  readonly labelText: string;
  readonly value: number;
  /** Undefined where the line has none. */
  readonly timeMs: number | undefined;
}

export function* metricLines(text: string): Generator<MetricLine> {
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    if (text.charCodeAt(start) !== HASH) {
      const line = readLine(text.slice(start, end));
      if (line !== undefined) yield line;
    }
    start = end + 1;
  }
}

/** `a="1",b="x\"y"` as an object without inherited keys. */
export function labelsOf(labelText: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = Object.create(null);
  for (const [, name = "", value = ""] of labelText.matchAll(LABEL)) {
    labels[name] = value.includes("\\") ? unescaped(value) : value;
  }
  return labels;
}

/** The types that `# TYPE` lines declare, by family. */
export function metricTypes(text: string): ReadonlyMap<string, string> {
  const types = new Map<string, string>();
  for (const [, name = "", type = ""] of text.matchAll(TYPE)) types.set(name, type);
  return types;
}

const HASH = 35;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;
const TYPE = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (\w+)/gm;

function readLine(line: string): MetricLine | undefined {
  const brace = line.indexOf("{");
  const space = line.indexOf(" ");
  if (brace === -1 || (space !== -1 && space < brace)) {
    if (space === -1) return undefined;
    return withValue(line.slice(0, space), "", line.slice(space + 1));
  }
  const close = endOfLabels(line, brace + 1);
  if (close === -1) return undefined;
  return withValue(line.slice(0, brace), line.slice(brace + 1, close), line.slice(close + 1));
}

/** Braces may be part of a quoted value. */
function endOfLabels(line: string, from: number): number {
  const close = line.indexOf("}", from);
  if (close === -1 || !line.slice(from, close).includes("\\")) {
    // Without escapes, an even number of quotes before the brace means that it is not quoted.
    if (close === -1 || quotesIn(line, from, close) % 2 === 0) return close;
  }
  let isQuoted = false;
  for (let at = from; at < line.length; at++) {
    const char = line[at];
    if (char === "\\" && isQuoted) at += 1;
    else if (char === '"') isQuoted = !isQuoted;
    else if (char === "}" && !isQuoted) return at;
  }
  return -1;
}

function quotesIn(line: string, from: number, to: number): number {
  let count = 0;
  for (let at = line.indexOf('"', from); at !== -1 && at < to; at = line.indexOf('"', at + 1)) {
    count += 1;
  }
  return count;
}

function withValue(name: string, labelText: string, rest: string): MetricLine | undefined {
  const [valueText = "", timeText = ""] = rest.trim().split(/\s+/, 2);
  const value = numberOf(valueText);
  if (value === undefined || name === "") return undefined;
  const timeMs = timeText === "" || timeText === "#" ? undefined : Number(timeText);
  return { name, labelText, value, timeMs: Number.isFinite(timeMs) ? timeMs : undefined };
}

function numberOf(text: string): number | undefined {
  if (text === "+Inf" || text === "Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  if (text === "NaN") return Number.NaN;
  const value = Number(text);
  return text === "" || Number.isNaN(value) ? undefined : value;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char));
}
