/**
 * The checks of one value by a schema that do not look at its parts: type, text, format, number, enum.
 */
import type { JSONSchemaProps } from "#api/generated/apiextensions.v1.ts";
import { goFormat } from "#api/meta/go-format.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { notSupported, tooLong } from "#api/validation/field-error.ts";
import { formatCheck, isUnrecognizedFormat } from "./formats.ts";
import { patternOf } from "./pattern.ts";
import {
  general,
  Outcome,
  uselessFactor,
  valueFault,
  wrongFormat,
  wrongType,
} from "./value-faults.ts";

/** All checks of a value without parts by a schema without anyOf, oneOf, allOf and not: most values are such. */
export function checkScalar(
  value: unknown,
  schema: JSONSchemaProps,
  at: string,
  old: unknown,
): Outcome {
  const outcome = new Outcome();
  if (old !== undefined && jsonEqual(value, old)) return outcome;
  if (value === null || value === undefined) {
    return outcome.merge(checkType(null, schema, at)).merge(checkEnum(null, schema, at));
  }
  // One for each check that passes, two for the combinations that there are not, one for the whole.
  outcome.matches = 4;
  if (hasType(schema)) {
    outcome.merge(checkType(value, schema, at));
    outcome.matches++;
  }
  if (typeof value === "string") {
    outcome.merge(checkText(value, schema, at)).merge(checkFormat(value, schema, at));
    outcome.matches += 2;
  } else if (isNumber(value)) {
    outcome.merge(checkNumber(value, schema, at));
    outcome.matches++;
  }
  return outcome.merge(checkEnum(value, schema, at));
}

export function hasType(schema: JSONSchemaProps): boolean {
  return typesOf(schema).length > 0 || formatOf(schema) !== "";
}

function typesOf(schema: JSONSchemaProps): string[] {
  if (schema["x-kubernetes-int-or-string"]) return ["integer", "string"];
  return schema.type === undefined ? [] : [schema.type];
}

function formatOf(schema: JSONSchemaProps): string {
  return isUnrecognizedFormat(schema) ? "" : (schema.format ?? "");
}

export function checkType(value: unknown, schema: JSONSchemaProps, at: string): Outcome {
  const outcome = new Outcome();
  const types = typesOf(schema);
  const joined = types.join(",");
  if (value === null) {
    if (types.length > 0 && !schema.nullable) return outcome.add(wrongType(at, joined, "null"));
    outcome.matches++;
    return outcome;
  }
  const actual = typeOf(value);
  const numberFits = (actual === "integer" && types.includes("number")) || types.includes(actual);
  const format = formatOf(schema);
  if (!types.includes("number") && !types.includes("integer") && format !== "") {
    if (typeof value === "string" || Array.isArray(value)) {
      outcome.matches++;
      return outcome;
    }
  }
  if (!numberFits) {
    const byFormat = format !== "" && typeof value !== "string" && !Array.isArray(value);
    return outcome.add(byFormat ? wrongFormat(at, format, actual) : wrongType(at, joined, actual));
  }
  outcome.matches++;
  return outcome;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "integer";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

export function checkText(value: string, schema: JSONSchemaProps, at: string): Outcome {
  const outcome = new Outcome();
  const { minLength, maxLength, pattern = "" } = schema;
  const length = maxLength === undefined && minLength === undefined ? 0 : charactersOf(value);
  if (maxLength !== undefined && length > maxLength) {
    const text = `${at} in body should be at most ${maxLength} chars long`;
    return outcome.add({ text, at, make: (path) => tooLong(path, maxLength) });
  }
  if (minLength !== undefined && length < minLength) {
    return outcome.add(valueFault(at, value, `should be at least ${minLength} chars long`));
  }
  if (pattern === "") return outcome;
  const compiled = patternOf(schema);
  if (!compiled.ok) {
    const detail = `should match '${pattern}, but pattern is invalid: ${compiled.fault}'`;
    return outcome.add(valueFault(at, value, detail));
  }
  if (!compiled.test(value)) outcome.add(valueFault(at, value, `should match '${pattern}'`));
  return outcome;
}

function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export function checkFormat(value: string, schema: JSONSchemaProps, at: string): Outcome {
  const format = formatOf(schema);
  const fits = formatCheck(format);
  const outcome = new Outcome();
  return fits === undefined || fits(value) ? outcome : outcome.add(wrongType(at, format, value));
}

export function checkNumber(value: number | bigint, schema: JSONSchemaProps, at: string): Outcome {
  const outcome = new Outcome();
  const { multipleOf, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  const fault = (detail: string) => outcome.add(valueFault(at, value, detail));
  const range = rangeFault(value, schema, at);
  if (range !== undefined) outcome.add(general(range));
  const bound = (limit: number) =>
    goFormat(typeOf(value) === "integer" ? Math.trunc(limit) : limit);
  if (multipleOf !== undefined) {
    const factor = typeOf(value) === "integer" ? Math.trunc(multipleOf) : multipleOf;
    if (factor <= 0) outcome.add(uselessFactor(at, factor));
    else if (!isMultiple(value, factor)) fault(`should be a multiple of ${bound(factor)}`);
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    fault(`should be greater than ${exclusiveMinimum ? "" : "or equal to "}${bound(minimum)}`);
  }
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    fault(`should be less than ${exclusiveMaximum ? "" : "or equal to "}${bound(maximum)}`);
  }
  outcome.matches++;
  return outcome;
}

function isMultiple(value: number | bigint, factor: number): boolean {
  if (typeof value === "bigint") return value % BigInt(factor) === 0n;
  if (Number.isInteger(value)) return value % factor === 0;
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  const whole = Math.trunc(quotient);
  if (quotient === whole) return true;
  return whole !== 0 && Math.abs((quotient - whole) / (quotient + whole)) < 1e-9;
}

function rangeFault(
  value: number | bigint,
  { type, format }: JSONSchemaProps,
  at: string,
): string | undefined {
  if (type === "integer" && !fitsInteger(value, format === "int32" ? 31n : 63n)) {
    const shown =
      format === undefined || format === "" ? "(default format)" : `with format ${format}`;
    return `Checked value must be of type integer ${shown} in ${at}`;
  }
  if (type === "number" && format === "float" && Math.abs(Number(value)) > 3.4028234663852886e38) {
    return `Checked value must be of type number with format float in ${at}`;
  }
  return undefined;
}

function fitsInteger(value: number | bigint, bits: bigint): boolean {
  if (typeof value === "number" && !Number.isInteger(value)) return false;
  return BigInt(value) < 1n << bits && BigInt(value) >= -(1n << bits);
}

export function checkEnum(value: unknown, schema: JSONSchemaProps, at: string): Outcome {
  const outcome = new Outcome();
  const { enum: allowed = [] } = schema;
  if (allowed.length === 0) return outcome;
  if (value !== null && allowed.some((one) => jsonEqual(one, value))) return outcome;
  const supported = allowed.map((one) => (typeof one === "string" ? one : JSON.stringify(one)));
  return outcome.add({
    text: `${at} in body should be one of ${goFormat(allowed)}`,
    at,
    make: (path) => notSupported(path, value, supported),
  });
}

export function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
