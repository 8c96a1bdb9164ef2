/** The program as users run it, for the tests that start it as a process. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const LAUNCHER = fileURLToPath(new URL("../k8ts", import.meta.url));

export const PROGRAM = fileURLToPath(new URL("../dist/k8ts.js", import.meta.url));

/** Builds it if it is older than its sources; `./k8ts test` has done so before the tests. */
export function buildProgram(): void {
  const built = spawnSync(LAUNCHER, ["--version"], { encoding: "utf8" });
  assert.equal(built.status, 0, built.stderr);
}
