/**
 * `npm run bench -- [name…] [--quick] [--json FILE]`: runs the benchmarks whose names begin with one
 * of the given names (all without any), and prints each figure beside the limit that was measured in
 * the same run. A missed target is marked, and the exit code says so.
 */
import { readdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Bench, Row } from "./row.ts";
import { formatRows, isMissed, ratioOf } from "./table.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, json: { type: "string" } },
});

const controller = new AbortController();
process.once("SIGINT", () => controller.abort(new Error("interrupted")));

const files = readdirSync(new URL(".", import.meta.url)).filter((f) => f.endsWith(".bench.ts"));
const results: { bench: string; rows: Row[] }[] = [];
for (const file of files.sort()) {
  const name = file.replace(".bench.ts", "");
  if (positionals.length > 0 && !positionals.some((p) => name.startsWith(p))) continue;
  const bench = (await import(`./${file}`)) as Bench;
  const rows: Row[] = [];
  const progress = (text: string): void => showProgress(`${name}: ${text}`);
  progress("starting");
  for await (const row of bench.run({ quick: values.quick, signal: controller.signal, progress })) {
    rows.push(row);
    progress(row.name);
  }
  showProgress("");
  process.stdout.write(`${name} (Node ${process.version})\n${formatRows(rows)}\n`);
  results.push({ bench: name, rows: rows.map((row) => ({ ...row, ratio: ratioOf(row) ?? 0 })) });
}
if (results.length === 0) process.stderr.write(`no benchmark matches ${positionals.join(" ")}\n`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(results, null, 1));
process.exitCode = results.length === 0 || results.some((r) => r.rows.some(isMissed)) ? 1 : 0;

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`);
  else if (text !== "") process.stderr.write(`${text}\n`);
}
