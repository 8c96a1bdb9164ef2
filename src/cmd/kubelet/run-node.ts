/** A node: the kubelet and its server, put together. Used by `k8ts kubelet` and by `k8ts up`. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { Client } from "#client/client.ts";
import { runServingCertificate } from "#kubelet/bootstrap/serving-certificate.ts";
import type { ImportImage } from "#kubelet/images/built-in-images.ts";
import { type RunningKubelet, runKubelet } from "#kubelet/kubelet.ts";
import type { KubeletConfig } from "#kubelet/kubelet-config.ts";
import { Access } from "#kubelet/server/access/access.ts";
import {
  type KubeletServer,
  startKubeletServer,
  type TlsLimits,
} from "#kubelet/server/kubelet-server.ts";
import { LineMover } from "#kubelet/server/log/line-mover.ts";
import { CadvisorReader } from "#kubelet/stats/cadvisor/cadvisor-reader.ts";
import type { Logger } from "#lib/logger.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { addServerRotationMetrics } from "./certificate-metrics.ts";
import { configurationDocument } from "./configuration-document.ts";

export interface NodeOptions {
  readonly config: KubeletConfig;
  readonly serving: NodeServing;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** By name: images that are made here instead of pulled. */
  readonly builtInImages?: ReadonlyMap<string, ImportImage>;
}

/** How the kubelet's own server is reached, and by whom. */
export interface NodeServing {
  readonly address: string;
  readonly tls: NodeCertificate;
  readonly tlsLimits?: TlsLimits;
  /** PEM of the authorities whose client certificates are believed. */
  readonly clientCa: string | undefined;
  readonly anonymous: boolean;
  readonly authorization: "Webhook" | "AlwaysAllow";
}

export type NodeCertificate =
  | { readonly cert: string; readonly key: string }
  /** The cluster issues it; it is kept in the folder. Nothing is served before it is there. */
  | { readonly folder: string };

export type RunningNode = Pick<RunningKubelet, "ready" | "done">;

const NO_SERVER: Pick<KubeletServer, "closed" | "renew"> = {
  closed: Promise.resolve(),
  renew: () => undefined,
};

/** Lives until the signal aborts; ready when the node is registered and its server listens. */
export function runNode(options: NodeOptions, signal: AbortSignal): RunningNode {
  const { config, serving, client, clock, random, logger, metrics } = options;
  const kubelet = runKubelet(options, signal);
  const server = kubelet.ready.then(() => {
    if (!config.enableServer) return NO_SERVER;
    const { cri, workers, status, probes, machine, cgroups, volumes } = kubelet.parts();
    /** The kubelet knows a status before the API server does. */
    const withStatus = (pod: Pod): Pod => {
      const latest = status.get(pod.metadata.uid ?? "");
      return latest === undefined ? pod : { ...pod, status: latest };
    };
    const access = new Access({
      ...{ nodeName: config.nodeName, client, clock, tokens: config.webhookAuthentication },
      ...{ tokenCacheMs: config.tokenCacheMs, authorizedCacheMs: config.authorizedCacheMs },
      unauthorizedCacheMs: config.unauthorizedCacheMs,
      ...{ anonymous: serving.anonymous, authorization: serving.authorization },
    });
    const pods = (): readonly Pod[] => workers.pods().map(withStatus);
    const cadvisor = new CadvisorReader({
      ...{ runtime: cri.runtime, machine, cgroupVersion: cgroups.version, clock, pods },
      ...{ cgroupRoot: config.cgroupRoot, rootFolder: config.rootDir },
    });
    const view = {
      nodeName: config.nodeName,
      pods,
      cri,
      configuration: () => configurationDocument(config),
      metrics,
      unhealthy: () => undefined,
      rootFolder: config.rootDir,
      ...{ logsFolder: "/var/log", allowLogQuery: config.enableSystemLogQuery },
      allowDebugging: config.enableDebuggingHandlers,
      allowSystemLogs: config.enableDebuggingHandlers && config.enableSystemLogHandler,
      volumeStats: () => volumes.stats.all(),
      cadvisorMetrics: () => cadvisor.text(),
      probeMetrics: () => probes.counts.text(),
      lineMover: new LineMover(),
    };
    const { address, tls, tlsLimits = {}, clientCa } = serving;
    const pair = "folder" in tls ? undefined : tls;
    const where = { address, port: config.port, tls: pair, tlsLimits, clientCa };
    return startKubeletServer({ ...where, access, view, clock, logger }, signal);
  });
  const certificate = server.then(({ renew }) => {
    if (!("folder" in serving.tls)) return undefined;
    return runServingCertificate(
      {
        ...{ nodeName: config.nodeName, folder: serving.tls.folder, client, clock, random, logger },
        ...{ addresses: kubelet.parts().addresses, metrics: addServerRotationMetrics(metrics) },
        onCertificate: ({ certificatePem: cert, keyPem: key }) => renew({ cert, key }),
      },
      signal,
    );
  });
  return {
    ready: server.then(() => undefined),
    done: Promise.all([kubelet.done, server.then(({ closed }) => closed), certificate]).then(
      () => undefined,
    ),
  };
}
