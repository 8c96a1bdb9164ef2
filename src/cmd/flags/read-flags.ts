/** Values of flags by the names that people give them. `Flags` is what commander makes of them. */
import { parseDuration } from "#api/meta/duration.ts";
import { FlagError } from "./parse-flags.ts";

export type Flags = Readonly<Record<string, unknown>>;

/** The name under which commander keeps a flag: `secure-port` is securePort. */
export function optionName(flag: string): string {
  return flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** Undefined unless something was given. */
export function textOf(flags: Flags, flag: string): string | undefined {
  const value = flags[optionName(flag)];
  return value === undefined || value === "" ? undefined : String(value);
}

export function isOn(flags: Flags, flag: string): boolean {
  return textOf(flags, flag) === "true";
}

/** In milliseconds. */
export function durationOf(flags: Flags, flag: string): number {
  const parsed = parseDuration(textOf(flags, flag) ?? "");
  if (!parsed.ok) throw new FlagError(`--${flag}: ${parsed.error}`);
  return Number(parsed.nanos / 1_000_000n);
}

export function numberOf(flags: Flags, flag: string): number {
  const text = textOf(flags, flag) ?? "";
  const number = Number(text);
  if (text === "" || !Number.isFinite(number)) throw new FlagError(`--${flag}: not a number`);
  return number;
}

export function countOf(flags: Flags, flag: string, max: number): number {
  const count = numberOf(flags, flag);
  if (Number.isInteger(count) && count >= 1 && count <= max) return count;
  throw new FlagError(`--${flag}: must be a number from 1 to ${max}`);
}
