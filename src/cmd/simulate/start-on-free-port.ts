/** Starts simulated nodes on the usual port of their kubelet server, or on any other where that is in use. */
import { codeOf } from "#lib/caught.ts";
import type { RunningSimulation } from "#sim/run-simulation.ts";

/** As kwok. */
export const SIMULATED_KUBELET_PORT = 10_247;

/** Resolves when the nodes are ready. `port`: only this one will do. */
export async function startOnFreePort(
  start: (port: number) => RunningSimulation,
  port?: number,
): Promise<RunningSimulation> {
  const simulation = start(port ?? SIMULATED_KUBELET_PORT);
  try {
    await Promise.race([simulation.ready, simulation.done]);
    return simulation;
  } catch (error) {
    if (port !== undefined || codeOf(error) !== "EADDRINUSE") throw error;
  }
  const other = start(0); // another simulation has the port
  await Promise.race([other.ready, other.done]);
  return other;
}
