/**
 * `./k8ts test [filter…]`: the checks, then every test on this machine's Node, then on the newer Node
 * that came along if there is one. Ends with `N passed, N failed, N skipped`.
 * With filters only the matching tests run, on this machine's Node.
 */
import { existsSync } from "node:fs";
import { ROOT, runChecks } from "./checks.ts";
import { runTestsRepeatingFailures } from "./unit.ts";

const filters = process.argv.slice(2).filter((arg) => arg !== "--no-install");
if (process.argv.includes("--no-install")) process.env.K8TS_NO_INSTALL = "1";

const totals = { passed: 0, failed: 0 };
const skipped = new Map<string, string>();
const unstable = new Set<string>();

if (filters.length === 0) {
  const { passed, failed } = runChecks();
  totals.passed += passed;
  totals.failed += failed;
}
run(`Node ${process.version}`, process.execPath, filters);
const newer = `${ROOT}node_modules/.bin/node`;
if (filters.length === 0 && existsSync(newer)) run("the newer Node", newer, []);

for (const [name, why] of skipped) process.stdout.write(`skipped: ${name}: ${why}\n`);
for (const file of unstable)
  process.stdout.write(`unstable: ${file}: passed only on the second run\n`);
process.stdout.write(`${totals.passed} passed, ${totals.failed} failed, ${skipped.size} skipped\n`);
process.exitCode = totals.failed > 0 || (process.env.CI === "true" && skipped.size > 0) ? 1 : 0;

function run(where: string, node: string, files: readonly string[]): void {
  const outcome = runTestsRepeatingFailures(node, files);
  process.stdout.write(
    `tests on ${where}: ${outcome.passed} passed, ${outcome.failed} failed, ${outcome.skipped.length} skipped so far\n`,
  );
  totals.passed += outcome.passed;
  totals.failed += outcome.failed;
  for (const { name, why } of outcome.skipped) skipped.set(name, why);
  for (const file of outcome.unstable) unstable.add(file);
}
