/** Makes a cluster that is ready known: its kubeconfig, the user's kubeconfig, and lines on stdout. */
import { chmodSync, copyFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Clock } from "#lib/time/clock.ts";
import type { ReportProgress } from "./background/progress.ts";
import { dashboardUrl, keepDashboardUrl } from "./dashboard-url.ts";
import { mergeIntoUserKubeconfig, userKubeconfigFile } from "./kubeconfig/user-kubeconfig.ts";
import { shellQuoted } from "./shell-quoted.ts";
import type { UpFlags } from "./up-flags.ts";

export interface Audience {
  readonly clock: Clock;
  /** Undefined in the foreground. */
  readonly report: ReportProgress | undefined;
  /** Keeps the flags of this start for the next one. */
  remember(): void;
}

export async function announce(
  flags: UpFlags,
  url: string,
  { clock, report, remember }: Audience,
  signal: AbortSignal,
): Promise<void> {
  const { dataDir } = flags.server;
  const kubeconfig = resolve(dataDir, "kubeconfig");
  copyFileSync(join(dataDir, "admin.kubeconfig"), kubeconfig);
  chmodSync(kubeconfig, 0o600);
  remember();
  if (flags.ephemeral) {
    process.stdout.write(`${kubeconfig}\n`);
    return;
  }
  if (!flags.dashboard) keepDashboardUrl(dataDir, undefined); // that of an earlier start
  const dashboard = dashboardUrl(dataDir);
  if (report === undefined) {
    process.stdout.write(
      `ready in ${Math.round(process.uptime() * 1000)} ms: ${url}\n` +
        `  export KUBECONFIG=${shellQuoted(kubeconfig)}\n` +
        (dashboard === undefined ? "" : `  dashboard: ${dashboard}\n`),
    );
    return;
  }
  let context: string | undefined;
  if (flags.kubeconfig) {
    const user = { file: userKubeconfigFile(process.env), clock };
    const merged = await mergeIntoUserKubeconfig(user, dataDir, signal);
    if (merged.ok) context = merged.context;
    else
      report({ type: "note", text: `the context was not added to your kubeconfig: ${merged.why}` });
  }
  const { pid } = process;
  const node = flags.node || flags.simulate > 0;
  report({ type: "ready", url, kubeconfig, context, dashboard, pid, node });
}
