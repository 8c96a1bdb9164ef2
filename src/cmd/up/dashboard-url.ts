/** The URL of the dashboard that a cluster serves, kept in its data directory. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE = "dashboard-url";

/** Undefined if the cluster of the directory serves none. */
export function dashboardUrl(dataDir: string): string | undefined {
  try {
    const text = readFileSync(join(dataDir, FILE), "utf8").trim();
    return URL.canParse(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined removes it. */
export function keepDashboardUrl(dataDir: string, url: string | undefined): void {
  if (url === undefined) rmSync(join(dataDir, FILE), { force: true });
  else writeFileSync(join(dataDir, FILE), `${url}\n`);
}
