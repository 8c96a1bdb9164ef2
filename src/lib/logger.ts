/**
 * Structured logs: a constant message and fields.
 *
 * Promises:
 * 1. A line below the level costs one comparison; its fields are not looked at.
 * 2. Fields whose names say that they are secret are written as "[redacted]", at any depth.
 * 3. A line is one line: control characters are escaped, cyclic or huge values are cut.
 * 4. Loggers are handed in and made by `child`; there is no global one.
 */
import type { Clock } from "./time/clock.ts";

/** The number of `-v` from which on debug lines are written. */
const DEBUG_VERBOSITY = 3;

const LEVELS = { debug: 10, info: 20, warn: 30, error: 40, silent: 99 } as const;
export type LogLevel = keyof typeof LEVELS;
export type Fields = Readonly<Record<string, unknown>>;

export interface Logger {
  /** Fields that cost something to collect are given as a function, called if the line is written. */
  debug(message: string, fields?: Fields | (() => Fields)): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** The same logger with fields that stand on each of its lines. */
  child(fields: Fields): Logger;
}

export type LogFormat = "pretty" | "text" | "json";

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly clock: Pick<Clock, "nowMs">;
  /** "pretty" is for a terminal: colours, and no dates. */
  readonly format: LogFormat;
  write(line: string): void;
}

export function createLogger(options: LoggerOptions, base: Fields = {}): Logger {
  const format = LINES[options.format];
  const at =
    (level: Exclude<LogLevel, "silent">) =>
    (message: string, fields?: Fields | (() => Fields)): void => {
      if (LEVELS[level] < LEVELS[options.level]) return;
      const given = typeof fields === "function" ? fields() : fields;
      const all = redact({ ...base, ...given }, 0) as Fields;
      options.write(format(new Date(options.clock.nowMs()).toISOString(), level, message, all));
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => createLogger(options, { ...base, ...fields }),
  };
}

export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};

const SECRET_NAME = /^(authorization|password|passwd|token|secret|cookie|privatekey|.*(-|_)key)$/i;
const DEPTH_MAX = 6;
const TEXT_LENGTH_MAX = 8192;

function redact(value: unknown, depth: number): unknown {
  if (typeof value === "string") {
    return value.length > TEXT_LENGTH_MAX ? `${value.slice(0, TEXT_LENGTH_MAX)}…` : value;
  }
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Error) return describeError(value, depth);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= DEPTH_MAX) return "[deep]";
  if (Array.isArray(value)) return value.slice(0, 100).map((item) => redact(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SECRET_NAME.test(name) ? "[redacted]" : redact(inner, depth + 1),
    ]),
  );
}

function describeError(error: Error, depth: number): unknown {
  const { name, message, stack } = error;
  const cause = error.cause === undefined ? {} : { cause: redact(error.cause, depth + 1) };
  return { name, message, stack, ...cause };
}

/**
 * Keys as upstream's components write them: `ts` in milliseconds, `v` for what is no error, `msg`,
 * and `err` with an error's message; all of the error stays where it was.
 */
function jsonLine(time: string, level: string, message: string, fields: Fields): string {
  const v = level === "error" ? {} : { v: verbosityOf(level) };
  const { error } = fields as { error?: { message?: unknown } };
  const err = typeof error?.message === "string" ? { err: error.message } : {};
  return `${JSON.stringify({ ts: Date.parse(time), level, ...v, msg: message, ...err, ...fields })}\n`;
}

function verbosityOf(level: string): number {
  return level === "debug" ? DEBUG_VERBOSITY : 0;
}

const COLOURS: Readonly<Record<string, string>> = {
  debug: "\u001b[90m",
  info: "\u001b[36m",
  warn: "\u001b[33m",
  error: "\u001b[31m",
};

function prettyLine(time: string, level: string, message: string, fields: Fields): string {
  const head = `${time.slice(11, 23)} ${COLOURS[level]}${level.padEnd(5)}\u001b[0m`;
  return textAfter(head, message, fields);
}

function textLine(time: string, level: string, message: string, fields: Fields): string {
  return textAfter(`${time} ${level.padEnd(5)}`, message, fields);
}

function textAfter(head: string, message: string, fields: Fields): string {
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${prettyValue(value)}`);
  return `${head} ${oneLine(message)}${rest.join("")}\n`;
}

const LINES = { pretty: prettyLine, text: textLine, json: jsonLine };

function prettyValue(value: unknown): string {
  if (typeof value === "string")
    return /[\s"=]|^$/.test(value) ? JSON.stringify(value) : oneLine(value);
  return JSON.stringify(value) ?? "undefined";
}

function oneLine(text: string): string {
  return text.replace(/\p{Cc}/gu, (c) => JSON.stringify(c).slice(1, -1));
}
