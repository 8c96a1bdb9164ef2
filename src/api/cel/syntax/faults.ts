/** Faults of an expression, and their text: message, the line, and a mark under the place. */
import { utf8Length } from "#lib/text/utf8-length.ts";
import { type Location, lineOf, locationOf, NO_LOCATION, type Source } from "./source.ts";

interface Fault {
  readonly location: Location;
  readonly message: string;
}

const FAULTS_MAX = 100;
const LINE_BYTES_MAX = 16_384;

/** Collects faults, of which it keeps and shows only so many. */
export class Faults {
  readonly #list: Fault[] = [];
  #count = 0;

  add(location: Location, message: string): void {
    this.#count++;
    if (this.#count <= FAULTS_MAX) this.#list.push({ location, message });
  }

  /** At an offset of a source; of no place if that is negative. */
  addAt(source: Source, offset: number, message: string): void {
    if (this.#count >= FAULTS_MAX) this.#count++;
    else this.add(offset < 0 ? NO_LOCATION : locationOf(source, offset), message);
  }

  get count(): number {
    return this.#list.length;
  }

  describe(source: Source): string {
    const texts = this.#list
      .toSorted(
        (a, b) => a.location.line - b.location.line || a.location.column - b.location.column,
      )
      .map((fault) => describeFault(fault, source));
    if (this.#count > FAULTS_MAX) {
      texts.push(`${this.#count - FAULTS_MAX} more errors were truncated`);
    }
    return texts.join("\n");
  }
}

function describeFault({ location: { line, column }, message }: Fault, source: Source): string {
  const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
  const text = lineOf(source, line);
  if (text === undefined || utf8Length(text) > LINE_BYTES_MAX) return head;
  const shown = text.replaceAll("\t", " ");
  const points = [...shown];
  const before = points.slice(0, Math.max(column, 0));
  const dots = before.map((point) => (isWide(point) ? "\uff0e" : ".")).join("");
  const at = points[before.length];
  const mark = at !== undefined && isWide(at) ? "\uff3e" : "^";
  return `${head}\n | ${shown}\n | ${dots}${mark}`;
}

function isWide(point: string): boolean {
  return point.codePointAt(0)! > 0x7f;
}
