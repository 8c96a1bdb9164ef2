/**
 * `k8ts node run FILE`: the process of one node inside its network namespace, started by `k8ts up`: runtime,
 * kubelet, service proxy and pod network. It writes `ready` to stdout, logs as JSON to stderr, and ends
 * when its stdin does, so that it never outlives the cluster.
 */
import { Client } from "#client/client.ts";
import { HttpsTransport } from "#client/https-transport.ts";
import { nodePaths } from "#kubelet/containerd/node-paths.ts";
import { deferred } from "#lib/deferred.ts";
import { Metrics } from "#lib/metrics.ts";
import { networkMarks } from "#network/network-marks.ts";
import { runNetworkPolicy } from "#network/policy/run-network-policy.ts";
import { detectMode } from "#proxy/detect-mode.ts";
import { runProxy } from "#proxy/run-proxy.ts";
import { processSurroundings } from "../component/process-surroundings.ts";
import { connectionOf } from "../flags/connection-flags.ts";
import type { NodeServing } from "../kubelet/run-node.ts";
import { type AgentConfig, readAgentConfig } from "./agent-config.ts";
import { runMachineNode } from "./run-machine-node.ts";

export async function runAgent(file: string, outer: AbortSignal): Promise<number> {
  const config = await readAgentConfig(file);
  const life = new AbortController();
  const signal = AbortSignal.any([outer, life.signal]);
  process.stdin.on("end", () => life.abort()).on("error", () => life.abort());
  process.stdin.resume();
  const surroundings = processSurroundings({ logLevel: "info", logFormat: "json" });
  const { clock, random, logger } = surroundings;
  using kubelet = new HttpsTransport(connectionOf(config.kubeconfig, ""), "kubelet");
  using proxied = new HttpsTransport(connectionOf(config.proxyKubeconfig, ""), "kube-proxy");
  const clientAs = (fieldManager: string, transport = proxied): Client =>
    new Client({ transport, clock, random, fieldManager });
  const metrics = new Metrics();
  const nodeReady = deferred<void>();
  const node = runMachineNode(
    {
      ...{ name: config.name, addresses: [config.address], clusterDns: config.clusterDns },
      paths: nodePaths(config.dataDir, config.name),
      serving: servingOf(config),
      podNetwork: {
        ...{ mode: config.podNetwork, ranges: config.podRanges },
        ...{ marks: networkMarks(config.dataDir), client: clientAs("k8ts-pod-network") },
      },
      ...{ client: clientAs("kubelet", kubelet), clock, random, logger, metrics },
    },
    nodeReady.resolve,
    signal,
  );
  const proxy = runProxy(
    {
      ...{ client: clientAs("kube-proxy"), clock, random, logger, metrics },
      ...{ nodeName: config.name, mode: await detectMode(), clusterCidrs: config.podRanges },
    },
    signal,
  );
  const policy = config.networkPolicy
    ? runNetworkPolicy(
        {
          ...{ client: clientAs("k8ts-network-policy"), clock, random, logger },
          nodeName: config.name,
        },
        signal,
      )
    : undefined;
  const ready = Promise.all([nodeReady.promise, proxy.ready, policy?.ready]);
  ready.then(
    () => process.stdout.write("ready\n"),
    () => undefined, // the end tells why
  );
  try {
    await Promise.race([node, proxy.done, ...(policy === undefined ? [] : [policy.done])]);
  } finally {
    life.abort();
    await Promise.allSettled([node, proxy.done, policy?.done]);
    process.stdin.destroy();
  }
  return 0;
}

function servingOf({ serving: { cert, key, clientCa } }: AgentConfig): NodeServing {
  return {
    ...{ address: "0.0.0.0", tls: { cert, key }, clientCa },
    ...{ anonymous: false, authorization: "Webhook" },
  };
}
