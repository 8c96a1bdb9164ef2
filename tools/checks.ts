/**
 * The checks of the gate that are no tests: format and lint, types, layers, test names, unused code, and whether
 * the program can be built, which the tests that run it then need not do, several at the same time.
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { writeGeneratedTypes } from "./generate-types.ts";

export const ROOT = fileURLToPath(new URL("../", import.meta.url));

interface Check {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}

const CHECKS: readonly Check[] = [
  ofPackage("format and lint", "@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."),
  ofPackage("types", "typescript/bin/tsc", "--noEmit"),
  ofPackage("types of the front end", "typescript/bin/tsc", "-p", "web"),
  ofPackage("layers", "tsx/dist/cli.mjs", "tools/layers.ts"),
  ofPackage("test names", "tsx/dist/cli.mjs", "tools/test-names.ts"),
  ofPackage("unused exports and files", "knip/bin/knip.js", "--no-progress"),
  { name: "build", program: `${ROOT}k8ts`, args: ["--version"] },
];

function ofPackage(name: string, script: string, ...args: string[]): Check {
  return { name, program: process.execPath, args: [`${ROOT}node_modules/${script}`, ...args] };
}

/** Runs all of them, prints what fails, and answers how many passed and failed. */
export function runChecks(): { passed: number; failed: number } {
  writeGeneratedTypes();
  let failed = 0;
  for (const { name, program, args } of CHECKS) {
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: ROOT,
      encoding: "utf8",
      maxBuffer: 64 << 20,
    });
    process.stdout.write(`${status === 0 ? "ok  " : "FAIL"} ${name}\n`);
    if (status === 0) continue;
    failed += 1;
    process.stdout.write(`${stdout}${stderr}\n`);
  }
  return { passed: CHECKS.length - failed, failed };
}
