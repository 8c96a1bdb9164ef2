/**
 * `k8ts/scheduler`: a scheduler with plugins of your own. A plugin is a name and the hooks it has;
 * `runScheduler` runs it together with the built-in ones.
 */
import { hostname } from "node:os";
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { connectionFromFile, connectionInCluster } from "#client/kubeconfig.ts";
import { createLogger } from "#lib/logger.ts";
import { Metrics } from "#lib/metrics.ts";
import { systemRandom } from "#lib/random.ts";
import { systemClock } from "#lib/time/system-clock.ts";
import { readConfig } from "#scheduler/config/read-config.ts";
import { DEFAULT_CONFIG } from "#scheduler/config/scheduler-config.ts";
import { startScheduler } from "#scheduler/create-scheduler.ts";
import type { DecisionRecords } from "#scheduler/explain/decision-records.ts";
import type { PluginFactory } from "#scheduler/plugin.ts";

export { explainPod } from "#scheduler/explain/explain-pod.ts";
export {
  definePlugin,
  FITS,
  type Handle,
  type Plugin,
  type PluginFactory,
  rejected,
  SKIP,
  unresolvable,
  type Verdict,
} from "#scheduler/plugin.ts";

export interface RunSchedulerOptions {
  /** A kubeconfig; inside a pod its service account is used without one. */
  readonly kubeconfig?: string;
  /** A KubeSchedulerConfiguration as an object; upstream's defaults without one. */
  readonly config?: unknown;
  /** Beside the built-in plugins; the configuration says which of them run. */
  readonly plugins?: readonly PluginFactory[];
  /** Called with the records of decisions when scheduling begins. */
  onReady?(records: DecisionRecords): void;
  readonly signal: AbortSignal;
}

/** Lives until the signal aborts. */
export async function runScheduler(options: RunSchedulerOptions): Promise<void> {
  const { kubeconfig, config, plugins = [], signal } = options;
  const connection =
    kubeconfig === undefined ? connectionInCluster(process.env) : connectionFromFile(kubeconfig);
  const [clock, random] = [systemClock, systemRandom];
  const logger = createLogger({
    level: "info",
    clock,
    format: process.stderr.isTTY ? "pretty" : "json",
    write: (line) => process.stderr.write(line),
  });
  using transport = new HttpsTransport(connection, "kube-scheduler", undefined, {
    http2: { clock },
  });
  const client = new Client({ transport, clock, random, fieldManager: "kube-scheduler" });
  const { synced, records, done } = startScheduler(
    {
      ...{ client, clock, random, logger, plugins, metrics: new Metrics() },
      hostname: hostname(),
      config: config === undefined ? DEFAULT_CONFIG : readConfig(config).scheduler,
    },
    signal,
  );
  void synced.then(() => options.onReady?.(records));
  await done;
}
