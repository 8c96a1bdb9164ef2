/** All that one node runs in a process of its own: runtime, kubelet, service proxy, pod network, policies. */
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { nodePaths } from "#kubelet/containerd/node-paths.ts";
import { deferred } from "#lib/async/deferred.ts";
import { Metrics } from "#lib/metrics.ts";
import type { NetworkMarks } from "#network/network-marks.ts";
import type { PodNetworkMode } from "#network/pod-network-mode.ts";
import { runNetworkPolicy } from "#network/policy/run-network-policy.ts";
import { detectMode } from "#proxy/detect-mode.ts";
import type { ProxyMode } from "#proxy/proxy-mode.ts";
import { runProxy } from "#proxy/run-proxy.ts";
import type { ProcessSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import type { NodeServing } from "../kubelet/run-node.ts";
import { runMachineNode } from "./run-machine-node.ts";

export interface NodeProcessConfig {
  readonly name: string;
  /** Found out unless given. */
  readonly addresses?: readonly string[];
  readonly dataDir: string;
  /** Of the kubelet: system:node:NAME. */
  readonly kubeconfig: string;
  /** Of the service proxy and the pod network. */
  readonly proxyKubeconfig: string;
  readonly clusterDns: readonly string[];
  readonly podNetwork: PodNetworkMode;
  readonly networkPolicy: boolean;
  /** What the machine can do unless given. */
  readonly proxyMode: ProxyMode | undefined;
  readonly podRanges: readonly string[];
  readonly marks: NetworkMarks;
  readonly serving: NodeServing;
  /** Families that the kubelet's page shows beside its own. */
  readonly kubeletMetrics?: Metrics;
}

/** Lives until the signal aborts; a part that ends by itself ends the others. */
export async function runNodeProcess(
  config: NodeProcessConfig,
  { clock, random, logger }: ProcessSurroundings,
  onReady: () => void,
  outer: AbortSignal,
): Promise<void> {
  const life = new AbortController();
  const signal = AbortSignal.any([outer, life.signal]);
  using kubelet = new HttpsTransport(connectionOf(config.kubeconfig, ""), "kubelet");
  using proxied = new HttpsTransport(connectionOf(config.proxyKubeconfig, ""), "kube-proxy");
  const clientAs = (fieldManager: string, transport = proxied): Client =>
    new Client({ transport, clock, random, fieldManager });
  const { name, addresses, dataDir, clusterDns, podRanges, marks, serving } = config;
  const { kubeletMetrics } = config;
  const shared = { clock, random, logger, metrics: new Metrics() };
  const mode = config.proxyMode ?? (await detectMode());
  const nodeReady = deferred<void>();
  const node = runMachineNode(
    {
      ...{ name, clusterDns, serving, paths: nodePaths(dataDir, name) },
      ...(addresses === undefined ? {} : { addresses }),
      ...(kubeletMetrics === undefined ? {} : { kubeletMetrics }),
      podNetwork: {
        ...{ mode: config.podNetwork, ranges: podRanges, marks },
        client: clientAs("k8ts-pod-network"),
      },
      ...{ ...shared, client: clientAs("kubelet", kubelet) },
    },
    nodeReady.resolve,
    signal,
  );
  const proxy = runProxy(
    {
      ...{ ...shared, client: clientAs("kube-proxy") },
      ...{ nodeName: name, mode, clusterCidrs: podRanges, trimObjects: true },
    },
    signal,
  );
  const policy = config.networkPolicy
    ? [
        runNetworkPolicy(
          { ...shared, client: clientAs("k8ts-network-policy"), nodeName: name },
          signal,
        ),
      ]
    : [];
  const parts = [node, proxy.done, ...policy.map(({ done }) => done)];
  Promise.all([nodeReady.promise, proxy.ready, ...policy.map(({ ready }) => ready)]).then(
    onReady,
    () => undefined, // `done` rejects with the error
  );
  try {
    await Promise.race(parts);
  } finally {
    life.abort();
    await Promise.allSettled(parts);
  }
}
