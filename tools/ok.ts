/** `npm run ok`: the checks and the tests on this Node. The gate before every commit. */
import { runChecks } from "./checks.ts";
import { runTests } from "./unit.ts";

const checks = runChecks();
const tests = runTests(process.execPath, []);
process.stdout.write(
  `${checks.passed + tests.passed} passed, ${checks.failed + tests.failed} failed, ${tests.skipped.length} skipped\n`,
);
process.exitCode = checks.failed + tests.failed > 0 ? 1 : 0;
