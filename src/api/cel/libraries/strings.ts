/** Strings by code points: search, parts, case, joining and formatting. */
import type { Library } from "../library.ts";
import { ArrayList, CelError, type CelList } from "../values/value.ts";
import { formatString } from "./string-format.ts";

export const stringsLibrary: Library = {
  functions: {
    "string_char_at_int string.charAt(int) -> string": (text: string, index: bigint) => {
      const points = [...text];
      return inRange(index, points.length) === points.length ? "" : points[Number(index)]!;
    },
    "string_index_of_string string.indexOf(string) -> int": (text: string, part: string) =>
      indexOf(text, part, 0n),
    "string_index_of_string_int string.indexOf(string, int) -> int": indexOf,
    "string_last_index_of_string string.lastIndexOf(string) -> int": (
      text: string,
      part: string,
    ) => {
      const { length } = [...text];
      if (part === "") return BigInt(length);
      return length === 0 ? -1n : lastIndexOf(text, part, BigInt(length - 1));
    },
    "string_last_index_of_string_int string.lastIndexOf(string, int) -> int": lastIndexOf,
    "string_lower_ascii string.lowerAscii() -> string": (text: string) =>
      text.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase()),
    "string_replace_string_string string.replace(string, string) -> string": (
      text: string,
      from: string,
      to: string,
    ) => replace(text, from, to, -1n),
    "string_replace_string_string_int string.replace(string, string, int) -> string": replace,
    "string_split_string string.split(string) -> list(string)": (text: string, by: string) =>
      split(text, by, -1n),
    "string_split_string_int string.split(string, int) -> list(string)": split,
    "string_substring_int string.substring(int) -> string": (text: string, start: bigint) => {
      const points = [...text];
      return points.slice(inRange(start, points.length)).join("");
    },
    "string_substring_int_int string.substring(int, int) -> string": (
      text: string,
      start: bigint,
      end: bigint,
    ) => {
      if (start > end) {
        throw new CelError(`invalid substring range. start: ${start}, end: ${end}`);
      }
      const points = [...text];
      return points.slice(inRange(start, points.length), inRange(end, points.length)).join("");
    },
    "string_trim string.trim() -> string": (text: string) => text.replaceAll(OUTER_SPACE, ""),
    "string_upper_ascii string.upperAscii() -> string": (text: string) =>
      text.replaceAll(/[a-z]+/g, (part) => part.toUpperCase()),
    "string_format string.format(list(dyn)) -> string": formatString,
    "strings_quote strings.quote(string) -> string": quote,
    "list_join list(string).join() -> string": (list: CelList) => join(list, ""),
    "list_join_string list(string).join(string) -> string": join,
  },
};

/** Since the library's third version, which Kubernetes does not have. */
export const stringReverseLibrary: Library = {
  functions: {
    "string_reverse string.reverse() -> string": (text: string) => [...text].reverse().join(""),
  },
};

const SPACE =
  "[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const OUTER_SPACE = new RegExp(`^${SPACE}+|${SPACE}+$`, "g");

function inRange(index: bigint, max: number): number {
  if (index < 0n || index > BigInt(max)) throw new CelError(`index out of range: ${index}`);
  return Number(index);
}

function indexOf(text: string, part: string, offset: bigint): bigint {
  if (part === "") return offset;
  if (offset < 0n) throw new CelError(`index out of range: ${offset}`);
  const points = [...text];
  const wanted = [...part];
  for (let i = Number(offset); i <= points.length - wanted.length; i++) {
    if (wanted.every((point, j) => points[i + j] === point)) return BigInt(i);
  }
  return -1n;
}

function lastIndexOf(text: string, part: string, offset: bigint): bigint {
  if (part === "") return offset;
  if (offset < 0n) throw new CelError(`index out of range: ${offset}`);
  const points = [...text];
  const wanted = [...part];
  if (offset >= BigInt(points.length)) return -1n;
  for (let i = Math.min(Number(offset), points.length - wanted.length); i >= 0; i--) {
    if (wanted.every((point, j) => points[i + j] === point)) return BigInt(i);
  }
  return -1n;
}

function replace(text: string, from: string, to: string, count: bigint): string {
  if (count === 0n || from === to) return text;
  const max = count < 0n ? Infinity : Number(count);
  if (from !== "") {
    const parts = text.split(from);
    const joined = parts.slice(0, max + 1).join(to);
    const rest = max + 1 < parts.length ? parts.slice(max + 1) : [];
    return [joined, ...rest].join(from);
  }
  const points = [...text];
  const head = points.slice(0, max).map((point) => to + point);
  const tail = points.slice(Math.min(max, points.length)).join("");
  return head.join("") + tail + (max > points.length ? to : "");
}

function split(text: string, by: string, count: bigint): ArrayList {
  if (count === 0n) return new ArrayList([]);
  const parts = by === "" ? [...text] : text.split(by);
  if (count < 0n || parts.length <= Number(count)) return new ArrayList(parts);
  const kept = Number(count) - 1;
  return new ArrayList([...parts.slice(0, kept), parts.slice(kept).join(by)]);
}

function join(list: CelList, separator: string): string {
  const parts: string[] = [];
  for (const element of list) {
    if (typeof element !== "string") throw new CelError(`join: invalid input: ${element}`);
    parts.push(element);
  }
  return parts.join(separator);
}

const QUOTED: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is escaped
  return `"${text.replaceAll(/[\x07\b\f\n\r\t\v\\"]/g, (char) => QUOTED[char]!)}"`;
}
