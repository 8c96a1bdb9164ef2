/**
 * The service proxy as a component of `k8ts up`: it calls the API server beside it directly. It changes
 * the packet rules of the machine, so it belongs only into a cluster with a real node.
 */
import type { User } from "#apiserver/request/request.ts";
import { Client } from "#client/client.ts";
import { detectMode } from "#proxy/detect-mode.ts";
import { runProxy } from "#proxy/run-proxy.ts";
import { APISERVER } from "./apiserver-component.ts";
import type { Component } from "./component.ts";

const PROXY: User = { name: "system:kube-proxy", groups: ["system:authenticated"] };
const FIELD_MANAGER = "kube-proxy";

export interface ProxyComponentOptions {
  readonly nodeName: string;
  /** Networks of pods, of either family. */
  readonly clusterCidrs: readonly string[];
}

export function proxyComponent({ nodeName, clusterCidrs }: ProxyComponentOptions): Component {
  return {
    name: "proxy",
    needs: [APISERVER],
    run: (cluster, signal) => {
      const { clock, random, logger, metrics } = cluster;
      const transport = cluster.transportAs(PROXY, FIELD_MANAGER);
      const client = new Client({ transport, clock, random, fieldManager: FIELD_MANAGER });
      const running = detectMode().then((mode) =>
        runProxy({ client, clock, random, logger, metrics, nodeName, mode, clusterCidrs }, signal),
      );
      return {
        ready: running.then(({ ready }) => ready),
        done: running.then(({ done }) => done),
      };
    },
  };
}
