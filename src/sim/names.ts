/** Names of labels, annotations and taints that simulated nodes have. */

/** A node with this label is run by the simulation, also if a user created it. */
export const SIMULATED_LABEL = "sim.k8ts.io/simulated";
export const SIMULATED_SELECTOR = `${SIMULATED_LABEL}=true`;

/** Nodes that the simulation made itself, and removes when there are to be fewer. */
export const MANAGED_ANNOTATION = "sim.k8ts.io/managed";

/** The identifier of the machine of a simulated cloud that a node runs on. */
export const MACHINE_ANNOTATION = "sim.k8ts.io/machine";

/** On a node: its failure. See FAILURES. */
export const FAILURE_ANNOTATION = "sim.k8ts.io/failure";

export const ZONE_LABEL = "topology.kubernetes.io/zone";
export const NODE_PREFIX = "sim-";

/**
 * `unreachable`: the node renews nothing and reports nothing, as without power or network.
 * `not-ready`: it reports that its runtime is down.
 */
export const FAILURES = ["unreachable", "not-ready"] as const;
export type Failure = (typeof FAILURES)[number];

export function failureOf(text: string | undefined): Failure | undefined {
  return FAILURES.find((failure) => failure === text);
}
