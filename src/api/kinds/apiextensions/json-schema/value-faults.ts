/** Faults found while a value is held to a schema, before it is known where the value stands. */
import { goQuote } from "#api/meta/go-quote.ts";
import { type FieldError, invalid, typeInvalid } from "#api/validation/field-error.ts";
import type { Path } from "#api/validation/path.ts";

/** Identified by its text; `at` is the path below the value. */
export interface Fault {
  readonly text: string;
  readonly at: string;
  make(path: Path): FieldError;
}

/** More faults of a value are not listed: a Status has no room for them. */
const FAULTS_MAX = 1_001;

/** `matches` counts what fitted: of several alternatives the nearest one's faults are shown. */
export class Outcome {
  readonly faults: Fault[] = [];
  #texts: Set<string> | undefined;
  matches = 0;

  add(fault: Fault): this {
    if (this.faults.length >= FAULTS_MAX || this.#texts?.has(fault.text)) return this;
    this.#texts ??= new Set();
    this.#texts.add(fault.text);
    this.faults.push(fault);
    return this;
  }

  merge(other: Outcome): this {
    for (const fault of other.faults) this.add(fault);
    this.matches += other.matches;
    return this;
  }

  get fits(): boolean {
    return this.faults.length === 0;
  }
}

export function wrongType(at: string, wanted: string, actual: string): Fault {
  const text = `${at} in body must be of type ${wanted}: ${goQuote(actual)}`;
  return { text, at, make: (path) => typeInvalid(path, actual, text) };
}

/** A schema with a format names it instead of its type, and the format that such values have. */
export function wrongFormat(at: string, wanted: string, actual: string): Fault {
  return wrongType(at, wanted, VALUE_FORMATS[actual] ?? "");
}

const VALUE_FORMATS: Readonly<Record<string, string>> = { integer: "int64", number: "float64" };

/** What the schema says, no value could meet. */
export function uselessFactor(at: string, factor: number): Fault {
  const text = `factor MultipleOf declared for ${at} must be positive: ${factor}`;
  return { text, at, make: (path) => invalid(path, factor, text) };
}

export function valueFault(at: string, value: unknown, detail: string): Fault {
  const text = `${at} in body ${detail}`;
  return { text, at, make: (path) => invalid(path, value, text) };
}

/** A fault of the whole value rather than of a field. */
export function general(text: string): Fault {
  return { text, at: "", make: (path) => invalid(path, "", text) };
}
