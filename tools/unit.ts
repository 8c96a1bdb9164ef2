/** Runs the tests with vitest on a given Node and answers what happened. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./checks.ts";

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  /** Files with a failure, relative to the project. */
  readonly failedFiles: readonly string[];
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
  /** Errors outside of any test: an unhandled rejection, a worker process that ended. */
  readonly errors: readonly string[];
}

/** More files than this failing at once is a fault of the project, not of one test. */
const MOST_FILES_TO_REPEAT = 4;

/**
 * Runs the tests; the few files that fail are run once more, alone. A test that passes only then
 * depends on what else the machine does: it is counted as passed and named, so that it gets mended.
 */
export function runTestsRepeatingFailures(
  node: string,
  filters: readonly string[],
): Outcome & { readonly unstable: readonly string[] } {
  const first = runTests(node, filters);
  const files = first.failedFiles;
  if (files.length === 0 || files.length > MOST_FILES_TO_REPEAT) return { ...first, unstable: [] };
  process.stdout.write(`once more, alone: ${files.join(" ")}\n`);
  const second = runTests(node, files);
  const mended = second.failed === 0 && second.passed > 0;
  if (!mended) return { ...first, unstable: [] };
  return { ...first, passed: first.passed + first.failed, failed: 0, unstable: files };
}

export function runTests(node: string, filters: readonly string[]): Outcome {
  const folder = mkdtempSync(join(tmpdir(), "k8ts-test-"));
  const file = join(folder, "outcome.json");
  try {
    const { status } = spawnSync(
      node,
      [
        `${ROOT}node_modules/vitest/vitest.mjs`,
        "run",
        "--reporter=default",
        `--reporter=${ROOT}tools/outcome-reporter.ts`,
        ...filters,
      ],
      {
        cwd: ROOT,
        stdio: ["ignore", "inherit", "inherit"],
        env: { ...process.env, K8TS_OUTCOME: file },
      },
    );
    if (!existsSync(file))
      return { passed: 0, failed: 1, failedFiles: [], skipped: [], errors: [] };
    const outcome = JSON.parse(readFileSync(file, "utf8")) as Outcome;
    for (const error of outcome.errors) process.stdout.write(`outside of tests: ${error}\n`);
    // An error outside of any test fails the run too.
    return status !== 0 && outcome.failed === 0 ? { ...outcome, failed: 1 } : outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
