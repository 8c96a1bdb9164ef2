/**
 * Flags as settings of a configuration file, and back. A setting has the name of its flag without the
 * dashes; `node: false` is `--no-node`.
 */
import type { Option } from "commander";
import { closestWord } from "#lib/text/closest-word.ts";
import { FlagError } from "../../flags/parse-flags.ts";

export type Setting = string | boolean | readonly string[];
export type Settings = Readonly<Record<string, Setting>>;

export interface GivenSettings {
  readonly settings: Settings;
  /** What is no known flag; the parser says what is wrong with it. */
  readonly others: readonly string[];
}

/** A flag that is given several times is a list. */
export function settingsOf(args: readonly string[], options: readonly Option[]): GivenSettings {
  const settings = new Map<string, Setting>();
  const others: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const [typed = ""] = arg.split("=", 1);
    const option = options.find(({ long, short }) => long === typed || short === typed);
    if (option?.long === undefined || option.long === null) {
      others.push(arg);
      continue;
    }
    const name = option.long.replace(/^--(no-)?/, (_, no) => (option.negate || !no ? "" : no));
    const next = args[at + 1];
    const takesNext = option.required || (option.optional && next?.startsWith("-") === false);
    if (option.required && next === undefined && !arg.includes("=")) others.push(arg);
    else if (arg.includes("=")) add(settings, name, arg.slice(typed.length + 1));
    else if (takesNext && next !== undefined) {
      add(settings, name, next);
      at += 1;
    } else settings.set(name, !option.negate);
  }
  return { settings: Object.fromEntries(settings), others };
}

/** `source` is where the settings come from, for the person who wrote them. */
export function argumentsOf(
  settings: Settings,
  options: readonly Option[],
  source: string,
): string[] {
  return Object.entries(settings).flatMap(([name, setting]) => {
    const option = options.find(({ long }) => long === `--${name}`);
    const negated = options.find(({ long }) => long === `--no-${name}`);
    if (option === undefined && negated === undefined) throw unknownSetting(name, options, source);
    const takesValue = option !== undefined && (option.required || option.optional);
    if (takesValue) {
      const values = Array.isArray(setting) ? setting : [setting];
      return values.map((value) => `--${name}=${value}`);
    }
    if (typeof setting !== "boolean") {
      throw new FlagError(`${source}: ${name} must be true or false`);
    }
    if (!setting) return negated === undefined ? [] : [`--no-${name}`];
    return option === undefined ? [] : [`--${name}`];
  });
}

/** The content of a file, as far as it has the form of settings. */
export function settingsFrom(content: unknown, source: string): Settings {
  if (content === undefined || content === null) return {};
  if (typeof content !== "object" || Array.isArray(content)) {
    throw new FlagError(`${source}: must be a map of flags and their values`);
  }
  return Object.fromEntries(
    Object.entries(content).map(([name, value]) => [name, settingFrom(name, value, source)]),
  );
}

function settingFrom(name: string, value: unknown, source: string): Setting {
  if (typeof value === "boolean") return value;
  const values = Array.isArray(value) ? value : [value];
  if (!values.every((one) => ["string", "number", "boolean"].includes(typeof one))) {
    throw new FlagError(
      `${source}: ${name} must be a text, a number, true, false, or a list of them`,
    );
  }
  return Array.isArray(value) ? values.map(String) : String(value);
}

function add(settings: Map<string, Setting>, name: string, value: string): void {
  const before = settings.get(name);
  if (before === undefined || typeof before === "boolean") settings.set(name, value);
  else settings.set(name, [before, value].flat());
}

function unknownSetting(name: string, options: readonly Option[], source: string): FlagError {
  const names = options.flatMap(({ long }) => long?.slice(2) ?? []);
  const meant = closestWord(name, names);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  return new FlagError(`${source}: unknown flag: ${name}${hint}`);
}
