/** Simulated nodes as a component of `k8ts up`. */
import { join } from "node:path";
import { Client } from "#client/client.ts";
import { readyAndDone } from "#lib/async/ready-and-done.ts";
import { issueLeaf, openAuthority } from "#pki/authority.ts";
import { SIMULATED_TAINT } from "#sim/node-template.ts";
import { DEFAULT_RENEW_MS, runSimulation, type SimulationConfig } from "#sim/run-simulation.ts";
import { simulationOf } from "../../simulate/simulation-file.ts";
import { startOnFreePort } from "../../simulate/start-on-free-port.ts";
import type { ClusterContext, RunComponent } from "../component.ts";

/** Acts for all simulated nodes, which have no accounts of their own. */
const USER = {
  name: "system:simulated-nodes",
  groups: ["system:masters", "system:authenticated"],
};

export const runSimulationComponent: RunComponent = (cluster, signal) =>
  readyAndDone((onReady) => run(cluster, onReady, signal));

async function run(
  cluster: ClusterContext,
  onReady: () => void,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger, flags } = cluster;
  const transport = cluster.transportAs(USER, "kubelet");
  const client = new Client({ transport, clock, random, fieldManager: "kubelet" });
  const config = withTaint(simulationOf(flags.simulateConfig), flags.node);
  const start = (port: number) => {
    const serving = { ...servingOf(flags.server.dataDir, clock.nowMs()), address: undefined, port };
    const parts = { client, clock, random, logger, nodes: flags.simulate, config, serving };
    return runSimulation({ ...parts, renewMs: DEFAULT_RENEW_MS }, signal);
  };
  const simulation = await startOnFreePort(start);
  cluster.simulated.usageOf = simulation.usageOf;
  onReady();
  await simulation.done;
}

/** Beside a real node, pods go to simulated nodes only where they tolerate that. */
function withTaint(config: SimulationConfig, hasRealNode: boolean): SimulationConfig {
  if (!hasRealNode) return config;
  const { nodes } = config;
  return { ...config, nodes: { ...nodes, taints: [...nodes.taints, SIMULATED_TAINT] } };
}

function servingOf(dataDir: string, nowMs: number) {
  const authority = openAuthority(join(dataDir, "pki", "ca"), "kubernetes", nowMs);
  const subject = { commonName: "system:simulated-nodes", organizations: ["system:nodes"] };
  const altNames = ["localhost", "127.0.0.1"];
  const pair = issueLeaf(authority, { subject, purpose: "server auth", altNames }, nowMs);
  return {
    tls: { cert: pair.certificatePem, key: pair.keyPem },
    clientCa: authority.certificatePem,
  };
}
