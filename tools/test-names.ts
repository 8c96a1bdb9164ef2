/**
 * Whether test names can be found: `npm run test-names` fails on a test whose full name (with those of its
 * `describe`s) has no term of Kubernetes that one would search for, and on one whose own name is
 * a word or two, which cannot say what is expected.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";
import { collectTestNames } from "./test-names/collect.ts";
import { type Subject, subjectOf, Vocabulary } from "./test-names/vocabulary.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const FOLDERS = ["src", "test", "tools", "bench", "web", "examples"];

/** One or two words of letters, such as "gone" or "no volume". */
const TOO_SHORT = /^[A-Za-z]+(?: [A-Za-z]+)?$/;

/** What is wrong with the names of the tests of a file. */
export function checkTestNames(
  path: string,
  source: string,
  subject: Subject,
  vocabulary: Vocabulary,
): string[] {
  return collectTestNames(path, source).flatMap(({ name, line }) => {
    const at = `${path}:${line}: ${JSON.stringify(name)}`;
    if (vocabulary.termIn(name, subject) === undefined) return [`${at} has no term to search for`];
    const own = name.split(" > ").at(-1)!;
    return TOO_SHORT.test(own) && vocabulary.identifierIn(own) === undefined
      ? [`${at}: ${JSON.stringify(own)} does not say what is expected`]
      : [];
  });
}

/** Names of the file (`x` of `x.cluster.test.ts`) and of what `x.ts` exports. */
export function subjectOfFile(path: string): Subject {
  const stem = path.replace(/(?:\.[a-z-]+)?(?:\.test)?\.tsx?$/, "");
  const beside = [`${stem}.ts`, `${stem}.tsx`].filter((file) => existsSync(join(ROOT, file)));
  return subjectOf([basename(stem), ...beside.flatMap(exportsOf)]);
}

function exportsOf(path: string): string[] {
  const { module } = parseSync(path, readFileSync(join(ROOT, path), "utf8"));
  return module.staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ exportName }) => exportName.name ?? []),
  );
}

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesIn(path);
    return /\.tsx?$/.test(path) ? [path] : [];
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = FOLDERS.flatMap(filesIn);
  // Suites that several test files share define tests, too.
  const tests = files.filter((path) => /\.test\.tsx?$|-suite\.ts$/.test(path));
  const vocabulary = new Vocabulary();
  for (const path of files) {
    if (!/\.test\.tsx?$/.test(path)) vocabulary.addSource(readFileSync(join(ROOT, path), "utf8"));
  }
  const problems = tests.flatMap((path) => {
    const source = readFileSync(join(ROOT, path), "utf8");
    return checkTestNames(path, source, subjectOfFile(path), vocabulary);
  });
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.stdout.write(`test names: ${tests.length} files, ${problems.length} problems\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
