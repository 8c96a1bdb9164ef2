/** The query of `/logs/?query=…` (node log query), checked as upstream checks it. Pure. */
import { goQuote } from "#api/meta/go-quote.ts";

export interface LogQuery {
  readonly services: readonly string[];
  readonly file: string | undefined;
  readonly sinceTime: string | undefined;
  readonly untilTime: string | undefined;
  readonly tailLines: number | undefined;
  readonly boot: number | undefined;
  readonly pattern: string | undefined;
}

export type ParsedLogQuery =
  | { readonly ok: true; readonly query: LogQuery }
  | { readonly ok: false; readonly message: string };

const TAIL_LINES_MAX = 100_000;
const SERVICE_LENGTH_MAX = 256;
const SERVICES_MAX = 4;

export function parseLogQuery(from: URLSearchParams): ParsedLogQuery {
  const all = from.getAll("query");
  const files = all.filter((one) => /[/\\]/.test(one));
  const services = all.filter((one) => !/[/\\]/.test(one) && one.trim() !== "");
  const query: LogQuery = {
    ...{ services, file: files[0] },
    ...{ tailLines: whole(from, "tailLines"), boot: whole(from, "boot") },
    sinceTime: from.get("sinceTime") ?? undefined,
    untilTime: from.get("untilTime") ?? undefined,
    pattern: from.get("pattern") || undefined,
  };
  const problems = [...problemsOfNames(files, services), ...problemsOfOptions(query)];
  const [first] = problems;
  if (first === undefined) return { ok: true, query };
  return { ok: false, message: problems.length === 1 ? first : `[${problems.join(", ")}]` };
}

function whole(from: URLSearchParams, name: string): number | undefined {
  const text = from.get(name) ?? "";
  return text === "" ? undefined : Number(text);
}

function problemsOfNames(files: readonly string[], services: readonly string[]): string[] {
  if (files.length === 0 && services.length === 0) {
    return ["query: Required value: cannot be empty with options"];
  }
  const list = (names: readonly string[]): string => `[${names.map(goQuote).join(",")}]`;
  if (files.length > 0 && services.length > 0) {
    const names = list([...files, ...services]);
    return [`query: Invalid value: ${names}: cannot specify a file and service`];
  }
  if (files.length > 1) {
    return [`query: Invalid value: ${list(files)}: cannot specify more than one file`];
  }
  const unsafe = services.flatMap((name) => {
    const why = whyUnsafe(name);
    return why === undefined ? [] : [`query: Invalid value: ${goQuote(name)}: ${why}`];
  });
  if (services.length <= SERVICES_MAX) return unsafe;
  const tooMany = `query: Too many: ${services.length}: must have at most ${SERVICES_MAX} items`;
  return [...unsafe, tooMany];
}

function whyUnsafe(name: string): string | undefined {
  if (name.length > SERVICE_LENGTH_MAX) return "length must be less than 100";
  return /[^a-zA-Z\-_.:0-9@]/.test(name) ? "input contains unsupported characters" : undefined;
}

function problemsOfOptions(query: LogQuery): string[] {
  const { file, sinceTime, untilTime, tailLines, boot, pattern } = query;
  const problems: string[] = [];
  const options = [sinceTime, untilTime, tailLines, boot, pattern];
  if (file !== undefined && options.some((one) => one !== undefined)) {
    problems.push(`query: Invalid value: [${goQuote(file)}]: cannot specify file with options`);
  }
  for (const [name, text] of Object.entries({ sinceTime, untilTime })) {
    if (text !== undefined && Number.isNaN(Date.parse(text))) {
      problems.push(`${name}: Invalid value: ${goQuote(text)}: invalid time format`);
    }
  }
  if (sinceTime && untilTime && Date.parse(sinceTime) > Date.parse(untilTime)) {
    problems.push(`untilTime: Invalid value: ${goQuote(untilTime)}: must be after \`sinceTime\``);
  }
  if (boot !== undefined && !(boot <= 0)) {
    problems.push(`boot: Invalid value: ${boot}: must be less than 1`);
  }
  if (tailLines !== undefined && !(tailLines >= 0 && tailLines <= TAIL_LINES_MAX)) {
    const range = `must be between 0 and ${TAIL_LINES_MAX}, inclusive`;
    problems.push(`tailLines: Invalid value: ${tailLines}: ${range}`);
  }
  return problems;
}

/** The arguments of journalctl. */
export function journalArguments(query: LogQuery): string[] {
  const { services, sinceTime, untilTime, tailLines, boot, pattern } = query;
  const at = (text: string): string => new Date(text).toISOString().slice(0, 19).replace("T", " ");
  return [
    ...["--utc", "--no-pager", "--output=short-precise"],
    ...(sinceTime === undefined ? [] : [`--since=${at(sinceTime)}`]),
    ...(untilTime === undefined ? [] : [`--until=${at(untilTime)}`]),
    ...(tailLines === undefined ? [] : ["--pager-end", `--lines=${tailLines}`]),
    ...services.map((name) => `--unit=${name}`),
    ...(pattern === undefined ? [] : [`--grep=${pattern}`]),
    ...(boot === undefined ? [] : ["--boot", String(boot)]),
  ];
}
