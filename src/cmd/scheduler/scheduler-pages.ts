/** What `k8ts scheduler` serves beside its metrics: health checks, /why, /metrics/resources, z-pages. */
import type { HealthCheck, HealthChecks } from "#apiserver/health/health-paths.ts";
import { type ZPageOptions, zPageText } from "#apiserver/paths/z-pages.ts";
import type { DecisionRecords } from "#scheduler/explain/decision-records.ts";
import { explainPod } from "#scheduler/explain/explain-pod.ts";
import type { RunningSchedulerProcess } from "./run-scheduler.ts";

const PATHS = ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz"];

export interface SchedulerPagesOptions extends Pick<ZPageOptions, "startMs" | "nowMs" | "flags"> {
  /** Undefined while another instance leads. */
  running(): RunningSchedulerProcess | undefined;
}

/** Undefined for paths that do not exist. */
export function schedulerPage(path: string, options: SchedulerPagesOptions): string | undefined {
  const running = options.running();
  if (path === "/metrics/resources") return running?.podResourceMetrics() ?? "";
  return (
    whyPage(running?.records, path) ??
    zPageText(path, { component: "kube-scheduler", paths: PATHS, ...options })
  );
}

/**
 * Upstream's checks. One that waits for the lease is ready: its caches are filled when it leads. The
 * lease is given up before it ends, so that the check of the election cannot fail.
 */
export function schedulerChecks(
  { running }: Pick<SchedulerPagesOptions, "running">,
  isElected: boolean,
  signal: AbortSignal,
): Partial<HealthChecks> {
  const election: HealthCheck = { name: "leaderElection", check: () => undefined };
  const shutdown: HealthCheck = {
    name: "shutdown",
    check: () => (signal.aborted ? "process is shutting down" : undefined),
  };
  const synced: HealthCheck = {
    name: "sched-handler-sync",
    check: () => {
      const isReady = running()?.isReady() ?? isElected;
      return isReady ? undefined : "handlers are not fully synchronized";
    },
  };
  return isElected
    ? { healthz: [election], readyz: [election, shutdown, synced] }
    : { readyz: [shutdown, synced] };
}

/** `/why/NAMESPACE/POD` in words, `/why/NAMESPACE/POD.json` as data. */
function whyPage(records: DecisionRecords | undefined, path: string): string | undefined {
  const match = /^\/why\/([^/]+)\/([^/]+?)(\.json)?$/.exec(path);
  if (match === null) return undefined;
  const [, namespace = "", name = "", isJson] = match;
  const record = records?.of(namespace, name);
  if (record === undefined) return `No attempt to schedule pod ${namespace}/${name} is known.\n`;
  return isJson === undefined ? explainPod(record) : `${JSON.stringify(record, undefined, 2)}\n`;
}
