/** A vitest reporter that counts, and says why a test was skipped. */
import { writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";
import type { Outcome } from "./unit.ts";

// biome-ignore lint/style/noDefaultExport: vitest loads reporters by their default export
export default class OutcomeReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const outcome = {
      passed: 0,
      failed: 0,
      failedFiles: modules
        .filter((one) => one.state() === "failed")
        .map((one) => one.relativeModuleId),
      skipped: [] as Outcome["skipped"][number][],
    };
    for (const module of modules) {
      if (module.state() === "failed" && module.errors().length > 0) outcome.failed += 1;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "passed") outcome.passed += 1;
        else if (result.state === "failed") outcome.failed += 1;
        else {
          const why = ("note" in result ? result.note : undefined) ?? "no reason given";
          outcome.skipped.push({ name: `${module.relativeModuleId}: ${test.fullName}`, why });
        }
      }
    }
    const file = process.env.K8TS_OUTCOME;
    if (file !== undefined) writeFileSync(file, JSON.stringify(outcome));
  }
}
