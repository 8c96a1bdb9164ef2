/** Runs the rules of axe-core (WCAG 2.2 A and AA, and best practices) on what a page shows. */
import axe from "axe-core";
import type { Page } from "playwright-core";

/** One line for each element that breaks a rule. Without `rules`: all of them. */
export async function accessibilityViolations(
  page: Page,
  view: string,
  rules?: string[],
): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async (only) => {
    const { axe: checker } = globalThis as unknown as { axe: typeof axe };
    const some = only === undefined ? {} : { runOnly: only };
    const { violations } = await checker.run({ resultTypes: ["violations"], ...some });
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ""}`),
    );
  }, rules);
  return found.map((violation) => `${view}: ${violation}`);
}
