/**
 * Which simulated nodes the machines of a cloud have. Pure.
 *
 * 1. A machine that runs registers a Node of its name once, as a kubelet with an external cloud provider
 *    does: with the taint `uninitialized`, without addresses.
 * 2. A machine that is stopped or gone is unreachable: its Node is left to the controllers.
 * 3. A machine that is started again registers again, if its Node is gone.
 */
import type { Node } from "#api/generated/core.v1.ts";
import { FAILURE_ANNOTATION, MACHINE_ANNOTATION } from "./names.ts";

export interface Machine {
  readonly id: string;
  /** The name of its Node. */
  readonly name: string;
  readonly state: "running" | "stopped";
}

export interface MachineNodes {
  /** Machines that register a Node (`machineNode`). */
  readonly create: readonly Machine[];
  /** By the name of the Node. */
  readonly fail: readonly string[];
  readonly recover: readonly string[];
  /** Machines that have registered: for the next decision. */
  readonly registered: ReadonlySet<string>;
}

export function decideMachineNodes(
  machines: readonly Machine[],
  nodes: readonly Node[],
  registered: ReadonlySet<string>,
): MachineNodes {
  const byName = new Map(nodes.map((node) => [node.metadata.name ?? "", node]));
  const running = machines.filter(({ state }) => state === "running");
  const runs = new Set(running.map(({ id }) => id));
  const isNew = ({ id, name }: Machine): boolean => !registered.has(id) && !byName.has(name);
  const own = nodes.filter((node) => machineOf(node) !== undefined);
  const names = (some: readonly Node[]): string[] =>
    some.map(({ metadata }) => metadata.name ?? "");
  return {
    create: running.filter(isNew),
    fail: names(own.filter((node) => !runs.has(machineOf(node)!) && !isFailed(node))),
    recover: names(own.filter((node) => runs.has(machineOf(node)!) && isFailed(node))),
    registered: runs,
  };
}

function machineOf({ metadata }: Node): string | undefined {
  return metadata.annotations?.[MACHINE_ANNOTATION];
}

function isFailed({ metadata }: Node): boolean {
  return metadata.annotations?.[FAILURE_ANNOTATION] === "unreachable";
}
