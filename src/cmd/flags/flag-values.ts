/** The values of flags as upstream's flag library reads them, and its words for those it cannot. */
import type { Command as Parser } from "commander";
import { formatDuration, parseDuration } from "#api/meta/duration.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { parseIp } from "#api/validation/ip.ts";
import { badValue, FlagError } from "./parse-flags.ts";

export function list(value: string): string[] {
  return value.split(",").filter((part) => part !== "");
}

/** Of a flag that may come several times. */
export function collect(value: string, before: readonly string[]): string[] {
  return [...before, ...list(value)];
}

/** Commas belong to the value. */
export function each(value: string, before: readonly string[]): string[] {
  return [...before, value];
}

export function integer(value: string): number {
  if (!/^[+-]?\d+$/.test(value)) {
    throw badValue(`strconv.ParseInt: parsing ${goQuote(value)}: invalid syntax`);
  }
  if (!Number.isSafeInteger(Number(value))) {
    throw badValue(`strconv.ParseInt: parsing ${goQuote(value)}: value out of range`);
  }
  return Number(value);
}

export function fraction(value: string): number {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) {
    throw badValue(`strconv.ParseFloat: parsing ${goQuote(value)}: invalid syntax`);
  }
  return Number(value);
}

export function flag(value: string): boolean {
  if (/^(1|t|T|true|TRUE|True)$/.test(value)) return true;
  if (/^(0|f|F|false|FALSE|False)$/.test(value)) return false;
  throw badValue(`strconv.ParseBool: parsing ${goQuote(value)}: invalid syntax`);
}

export function seconds(value: string): number {
  const parsed = parseDuration(value);
  if (!parsed.ok) throw badValue(parsed.error);
  return Number(parsed.nanos) / 1e9;
}

/** Lets help show the defaults of durations and ranges as they are typed: `1m0s`, `30000-32767`. */
export function showDefaultsAsTyped(parser: Parser): Parser {
  for (const option of parser.options) {
    const { defaultValue: value } = option;
    const parse: unknown = option.parseArg;
    if (parse === seconds && typeof value === "number") {
      option.default(value, formatDuration(BigInt(Math.round(value * 1e9))));
    } else if (parse === ports) {
      option.default(value, `${value.first}-${value.last}`);
    } else if (Array.isArray(value)) {
      option.default(value, value.length === 0 ? "none" : value.join(","));
    }
  }
  return parser;
}

export function address(value: string): string {
  if (parseIp(value.trim()) === undefined) throw badValue(`failed to parse IP: ${goQuote(value)}`);
  return value.trim();
}

/** `first-last`, `first+more` or one port. */
export function ports(value: string): { first: number; last: number } {
  const match = /^\s*(\d+)(?:([-+])(\d+))?\s*$/.exec(value);
  if (match === null) throw badValue(`unable to parse port range: ${value}`);
  const first = Number(match[1]);
  const second = Number(match[3] ?? first);
  const last = match[2] === "+" ? first + second : second;
  if (Math.max(first, last) > 65_535) {
    throw badValue(`the port range cannot be greater than 65535: ${value}`);
  }
  if (last < first) throw badValue(`end port cannot be less than start port: ${value}`);
  return { first, last };
}

/** `a=true,b=false,c` */
export function settings(value: string): Record<string, boolean> {
  return Object.fromEntries(
    list(value).map((part) => {
      const [name = "", setting = ""] = part.split("=");
      if (setting === "") return [name, true];
      if (!/^(true|false)$/i.test(setting)) throw new FlagError(`invalid value ${name}=${setting}`);
      return [name, setting.toLowerCase() === "true"];
    }),
  );
}
