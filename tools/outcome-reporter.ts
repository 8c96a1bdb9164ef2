/**
 * A vitest reporter that counts, says why a test was skipped, and keeps errors that no test is to blame for.
 * Tests without a result, because their process ended, have failed.
 */
import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import type { Outcome } from "./unit.ts";

// biome-ignore lint/style/noDefaultExport: vitest loads reporters by their default export
export default class OutcomeReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const outcome = {
      passed: 0,
      failed: 0,
      failedFiles: modules.filter(hasFailed).map((one) => one.relativeModuleId),
      skipped: [] as Outcome["skipped"][number][],
      errors: errors.map(describe),
    };
    for (const module of modules) {
      if (module.state() === "failed" && module.errors().length > 0) outcome.failed += 1;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "passed") outcome.passed += 1;
        else if (result.state !== "skipped") outcome.failed += 1;
        else {
          const why = result.note ?? "no reason given";
          outcome.skipped.push({ name: `${module.relativeModuleId}: ${test.fullName}`, why });
        }
      }
    }
    const file = process.env.K8TS_OUTCOME;
    if (file !== undefined) writeFileSync(file, JSON.stringify(outcome));
  }
}

function hasFailed(module: TestModule): boolean {
  if (module.state() === "failed") return true;
  return [...module.children.allTests()].some((test) => test.result().state === "pending");
}

function describe({ name, message, stack, cause }: SerializedError): string {
  const own = stack ?? `${name}: ${message}`;
  return cause === undefined ? own : `${own}\ncaused by ${describe(cause)}`;
}
