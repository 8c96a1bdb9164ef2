/** Runs the tests with vitest on a given Node and answers what happened. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./checks.ts";

export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
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
    if (!existsSync(file)) return { passed: 0, failed: 1, skipped: [] };
    const outcome = JSON.parse(readFileSync(file, "utf8")) as Outcome;
    // An error outside of any test (an unhandled rejection, say) fails the run too.
    return status !== 0 && outcome.failed === 0 ? { ...outcome, failed: 1 } : outcome;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
