/** The metrics server with its HTTPS server, put together. Used by `k8ts metrics-server` and by `k8ts up`. */
import type { Client } from "#client/client.ts";
import { Metrics } from "#lib/metrics.ts";
import {
  type MetricsServerOptions,
  type RunningMetricsServer,
  runMetricsServer,
} from "#metrics/run-metrics-server.ts";
import { type KubeletAccess, KubeletFetch } from "#metrics/scrape/kubelet-fetch.ts";
import { serveMetrics } from "#metrics/serve-metrics.ts";
import { DelegatedAccess } from "../component/delegated-access.ts";
import {
  type ExtensionServerOptions,
  startExtensionServer,
} from "../component/extension-server.ts";

export interface MetricsServerParts
  extends Omit<MetricsServerOptions, "fetch" | "metrics">,
    Pick<ExtensionServerOptions, "host" | "port" | "tls" | "isAllowed"> {
  readonly client: Client;
  readonly kubelets: KubeletAccess;
}

export interface StartedMetricsServer extends Pick<RunningMetricsServer, "groups"> {
  readonly port: number;
  /** Resolves when it has ended. */
  readonly done: Promise<void>;
}

/** Resolves when it listens and knows whom to trust; ends with the signal. */
export async function startMetricsServer(
  parts: MetricsServerParts,
  signal: AbortSignal,
): Promise<StartedMetricsServer> {
  const { client, clock, random, logger, kubelets, host, port, tls, isAllowed } = parts;
  const metrics = new Metrics();
  const kubeletFetch = new KubeletFetch(kubelets);
  const access = new DelegatedAccess({ client, clock, random, logger });
  const accessRunning = access.run(signal);
  const fetch: MetricsServerOptions["fetch"] = (node, path, life) =>
    kubeletFetch.get(node, path, life);
  const server = runMetricsServer({ ...parts, metrics, fetch }, signal);
  const ended = Promise.all([accessRunning, server.done]).then(() =>
    kubeletFetch[Symbol.dispose](),
  );
  await Promise.race([access.synced, ended]);
  const listening = await startExtensionServer(
    {
      ...{ host, port, tls, access, logger, isReady: server.isReady },
      ...(isAllowed === undefined ? {} : { isAllowed }),
      answer: async (request) =>
        request.path === "/metrics"
          ? { code: 200, text: `${metrics.text()}${await server.state.text()}` }
          : await serveMetrics(server.groups, request),
    },
    signal,
  );
  const done = Promise.all([ended, listening.closed]).then(() => undefined);
  return { port: listening.port, groups: server.groups, done };
}
