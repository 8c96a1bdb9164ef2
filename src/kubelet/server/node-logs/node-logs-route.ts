/**
 * `/logs/…`: files below the node's log folder, and, where `enableSystemLogQuery` is on, logs of
 * services by `?query=NAME`: from the journal, or from the service's file in the folder.
 *
 * Nothing outside the folder is read, whatever links it contains.
 */
import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "#host/run-program.ts";
import { type KubeletAnswer, textAnswer } from "../answer.ts";
import { journalArguments, type LogQuery, parseLogQuery } from "./log-query.ts";

const QUERY_TIMEOUT_MS = 30_000;
const JOURNAL_BYTES_MAX = 64 * 1024 * 1024;

export interface NodeLogsRequest {
  /** `/var/log` */
  readonly folder: string;
  /** Parts of the path behind `/logs/`. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
  readonly allowQuery: boolean;
  readonly signal: AbortSignal;
}

export async function nodeLogsRoute(request: NodeLogsRequest): Promise<KubeletAnswer> {
  const { folder, parts, query, allowQuery, signal } = request;
  if (!query.has("query")) return fileAnswer(folder, parts.join("/"));
  if (!allowQuery) return textAnswer(405, "405: enableSystemLogQuery is off");
  const parsed = parseLogQuery(query);
  if (!parsed.ok) return textAnswer(400, parsed.message);
  if (parsed.query.file !== undefined) return fileAnswer(folder, parsed.query.file);
  return serviceAnswer(folder, parsed.query, signal);
}

async function fileAnswer(folder: string, path: string): Promise<KubeletAnswer> {
  const found = await inside(folder, path);
  if (found === undefined) return textAnswer(404, "404 page not found\n");
  const { isFolder, real } = found;
  if (!isFolder) return { form: "stream", chunks: createReadStream(real) };
  const entries = await readdir(real, { withFileTypes: true });
  const names = entries.map((entry) => `${entry.name}${entry.isDirectory() ? "/" : ""}`).sort();
  const lines = names.map((name) => `<a href="${encodeURI(name)}">${escapeHtml(name)}</a>\n`);
  const head = `<!doctype html>\n<meta name="viewport" content="width=device-width">\n`;
  const text = `${head}<pre>\n${lines.join("")}</pre>\n`;
  return { form: "text", code: 200, text, type: "text/html; charset=utf-8" };
}

/** Undefined if there is no such file, or it lies elsewhere. */
async function inside(
  folder: string,
  path: string,
): Promise<{ readonly real: string; readonly isFolder: boolean } | undefined> {
  try {
    const [root, real] = await Promise.all([realpath(folder), realpath(join(folder, path))]);
    if (real !== root && !real.startsWith(`${root}/`)) return undefined;
    const found = await stat(real);
    if (!found.isFile() && !found.isDirectory()) return undefined;
    return { real, isFolder: found.isDirectory() };
  } catch {
    return undefined;
  }
}

async function serviceAnswer(
  folder: string,
  query: LogQuery,
  signal: AbortSignal,
): Promise<KubeletAnswer> {
  const journal = await journalText(query, signal);
  if (journal !== undefined) return textAnswer(200, journal);
  for (const service of query.services) {
    for (const path of [service, `${service}.log`, `${service}/${service}.log`]) {
      const found = await inside(folder, path);
      if (found !== undefined && !found.isFolder) {
        return { form: "stream", chunks: createReadStream(found.real) };
      }
    }
  }
  const names = query.services.join(", ");
  return textAnswer(200, `\n${names}: no entries in the journal and no file in ${folder}\n`);
}

/** Undefined where there is no journal, or nothing of the services in it. */
async function journalText(query: LogQuery, signal: AbortSignal): Promise<string | undefined> {
  const ends = AbortSignal.any([signal, AbortSignal.timeout(QUERY_TIMEOUT_MS)]);
  try {
    const options = { signal: ends, outputBytesMax: JOURNAL_BYTES_MAX };
    const { exitCode, stdout } = await runProgram("journalctl", journalArguments(query), options);
    const isEmpty = exitCode !== 0 || stdout === "" || stdout.startsWith("-- No entries --");
    return isEmpty ? undefined : stdout;
  } catch {
    return undefined; // no such program, or it took too long
  }
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&#34;");
}
