/**
 * The service proxy as a component of `k8ts up`: it calls the API server beside it directly. It changes
 * the packet rules of the machine, so it runs only in a cluster with a real node.
 */
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import { detectMode } from "#proxy/detect-mode.ts";
import { runProxy } from "#proxy/run-proxy.ts";
import type { RunComponent } from "../component.ts";
import { podRangesOf } from "../pod-ranges.ts";

export const PROXY_USER: User = { name: "system:kube-proxy", groups: ["system:authenticated"] };
const FIELD_MANAGER = "kube-proxy";

export const runProxyComponent: RunComponent = (cluster, signal) => {
  const { clock, random, logger, metrics, hostname, flags } = cluster;
  const transport = cluster.transportAs(PROXY_USER, FIELD_MANAGER);
  const client = new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
  const nodeName = hostname.toLowerCase();
  const clusterCidrs = podRangesOf(flags.server.serviceClusterIpRange);
  const shared = { client, clock, random, logger, metrics };
  const mode = flags.proxyMode === undefined ? detectMode() : Promise.resolve(flags.proxyMode);
  const running = mode.then((mode) =>
    runProxy({ ...shared, nodeName, mode, clusterCidrs }, signal),
  );
  return {
    ready: running.then(({ ready }) => ready),
    done: running.then(({ done }) => done),
  };
};
