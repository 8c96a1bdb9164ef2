/** What the process of a node in a network namespace is given: a file that only root can read. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PodNetworkMode } from "#network/pod-network-mode.ts";
import type { ProxyMode } from "#proxy/proxy-mode.ts";

export interface AgentConfig {
  readonly name: string;
  readonly addresses: readonly string[];
  readonly dataDir: string;
  /** Of the kubelet: system:node:NAME. */
  readonly kubeconfig: string;
  /** Of the service proxy and the pod network. */
  readonly proxyKubeconfig: string;
  readonly networkPolicy: boolean;
  /** What the machine can do unless given. */
  readonly proxyMode: ProxyMode | undefined;
  readonly clusterDns: readonly string[];
  readonly podNetwork: PodNetworkMode;
  readonly podRanges: readonly string[];
  readonly serving: { readonly cert: string; readonly key: string; readonly clientCa: string };
}

/** Its path is also what `k8ts down` finds a node's processes by. */
export function agentConfigFile(dataDir: string, node: string): string {
  return join(dataDir, "nodes", node, "agent.json");
}

export async function readAgentConfig(file: string): Promise<AgentConfig> {
  return JSON.parse(await readFile(file, "utf8")) as AgentConfig;
}
