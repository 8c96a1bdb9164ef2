/**
 * `npm run bench -- [name…] [--quick] [--json FILE] [--html FILE]`: runs the benchmarks whose names begin
 * with one of the given names (all without any), and prints each figure beside the limit that was measured
 * in the same run, and at the end the figures that the project wants to reach (goals.ts). A missed target
 * is marked, and the exit code says so. The results are written as JSON and as a page with charts, to
 * bench/results unless the flags say where. `--quick` without names runs only what the goals need, in
 * less than three minutes.
 */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { GOAL_BENCHES, measuredGoals } from "./goals.ts";
import { type BenchResult, htmlPage } from "./html.ts";
import type { Bench, Row } from "./row.ts";
import { formatRows, isMissed, ratioOf } from "./table.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "string", default: resultFile("bench.json") },
    html: { type: "string", default: resultFile("bench.html") },
  },
});

const controller = new AbortController();
process.once("SIGINT", () => controller.abort(new Error("interrupted")));

const files = readdirSync(new URL(".", import.meta.url)).filter((f) => f.endsWith(".bench.ts"));
const results: BenchResult[] = [];
const failed: string[] = [];
for (const file of files.sort()) {
  const name = file.replace(".bench.ts", "");
  if (!isChosen(name)) continue;
  const bench = (await import(`./${file}`)) as Bench;
  const rows: Row[] = [];
  const startMs = performance.now();
  const progress = (text: string): void => showProgress(`${name}: ${text}`);
  progress("starting");
  try {
    const options = { quick: values.quick, signal: controller.signal, progress };
    for await (const row of bench.run(options)) {
      rows.push(row);
      progress(row.name);
    }
  } catch (error) {
    failed.push(name);
    process.stderr.write(`${name} ended early: ${error instanceof Error ? error.stack : error}\n`);
  }
  showProgress("");
  const seconds = Math.round((performance.now() - startMs) / 1000);
  process.stdout.write(`${name} (Node ${process.version}, ${seconds} s)\n${formatRows(rows)}\n`);
  results.push({ bench: name, rows: rows.map(withRatio) });
}
if (results.length === 0) process.stderr.write(`no benchmark matches ${positionals.join(" ")}\n`);
else {
  const goals = measuredGoals(results);
  results.unshift({ bench: "goals", rows: goals.rows.map(withRatio) });
  process.stdout.write(`goals\n${formatRows(goals.rows)}`);
  if (goals.missing.length > 0) {
    process.stdout.write(`  not measured in this run: ${goals.missing.join("; ")}\n`);
  }
  const caption = `${new Date().toISOString()}, Node ${process.version}, ${availableParallelism()} processors${values.quick ? ", quick" : ""}`;
  writeResult(values.json, JSON.stringify(results, null, 1));
  writeResult(values.html, htmlPage(results, { caption }));
  process.stdout.write(`written: ${values.json}, ${values.html}\n`);
}
const isMissedSomewhere = results.some((r) => r.bench !== "goals" && r.rows.some(isMissed));
process.exitCode = results.length === 0 || failed.length > 0 || isMissedSomewhere ? 1 : 0;

function isChosen(name: string): boolean {
  if (positionals.length > 0) return positionals.some((one) => name.startsWith(one));
  return !values.quick || GOAL_BENCHES.has(name);
}

function withRatio(row: Row): Row {
  const ratio = ratioOf(row);
  return ratio === undefined ? row : { ...row, ratio };
}

function resultFile(name: string): string {
  return fileURLToPath(new URL(`results/${name}`, import.meta.url));
}

function writeResult(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${text}`);
  else if (text !== "") process.stderr.write(`${text}\n`);
}
