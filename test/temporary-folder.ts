/**
 * Gives a run of the tests a temporary folder of its own, and removes it at the end. What tests have left in
 * it is named.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "k8ts-tests-"));

export function setup(): void {
  process.env.TMPDIR = folder;
}

export function teardown(): void {
  const left = readdirSync(folder).filter((name) => name.startsWith("k8ts-"));
  if (left.length > 0) process.stderr.write(`left by tests: ${left.join(", ")}\n`);
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
