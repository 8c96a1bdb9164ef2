/** The checks of the gate that are no tests: format and lint, types, layers, unused code. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { writeGeneratedTypes } from "./generate-types.ts";

export const ROOT = fileURLToPath(new URL("../", import.meta.url));

const CHECKS: readonly { name: string; command: readonly string[] }[] = [
  {
    name: "format and lint",
    command: ["@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."],
  },
  { name: "types", command: ["typescript/bin/tsc", "--noEmit"] },
  { name: "layers", command: ["tsx/dist/cli.mjs", "tools/layers.ts"] },
  { name: "unused exports and files", command: ["knip/bin/knip.js", "--no-progress"] },
];

/** Runs all of them, prints what fails, and answers how many passed and failed. */
export function runChecks(): { passed: number; failed: number } {
  writeGeneratedTypes();
  let failed = 0;
  for (const { name, command } of CHECKS) {
    const [script, ...args] = command;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [`${ROOT}node_modules/${script}`, ...args],
      { cwd: ROOT, encoding: "utf8", maxBuffer: 64 << 20 },
    );
    process.stdout.write(`${status === 0 ? "ok  " : "FAIL"} ${name}\n`);
    if (status === 0) continue;
    failed += 1;
    process.stdout.write(`${stdout}${stderr}\n`);
  }
  return { passed: CHECKS.length - failed, failed };
}
