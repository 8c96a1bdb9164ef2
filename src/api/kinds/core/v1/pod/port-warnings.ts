/** Warnings about duplicate and ambiguous ports. */
import type { ContainerPort, PodSpec } from "#api/generated/core.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { Path } from "#api/validation/path.ts";
import { placedContainers, someContainer } from "./containers/containers.ts";

interface PlacedPort {
  readonly port: ContainerPort;
  readonly path: Path;
}

export function portWarnings(spec: PodSpec, path: Path, warnings: string[]): void {
  if (!someContainer(spec, ({ ports }) => ports !== undefined)) return;
  const ports: PlacedPort[] = [];
  for (const { container, path: at } of placedContainers(spec, path)) {
    for (const [i, port] of (container.ports ?? []).entries()) {
      ports.push({ port, path: at.child("ports").index(i) });
    }
  }
  warnings.push(...clashWarnings(ports), ...nameWarnings(ports));
}

function clashWarnings(ports: readonly PlacedPort[]): string[] {
  const warnings: string[] = [];
  const seen = new Map<string, PlacedPort[]>();
  for (const placed of ports) {
    const { containerPort, protocol = "", hostPort = 0, hostIP = "" } = placed.port;
    if (hostIP !== "" && hostPort === 0) {
      warnings.push(`${placed.path}: hostIP set without hostPort: ${goStruct(placed.port)}`);
    }
    const key = `${containerPort}/${protocol}`;
    const others = seen.get(key) ?? [];
    for (const other of others) {
      const clash = clashOf(placed.port, other.port);
      if (clash !== undefined) {
        warnings.push(`${placed.path}: ${clash} port definition with ${other.path}`);
      }
    }
    seen.set(key, [...others, placed]);
  }
  return warnings;
}

function clashOf(a: ContainerPort, b: ContainerPort): string | undefined {
  const { hostPort: portA = 0, hostIP: ipA = "" } = a;
  const { hostPort: portB = 0, hostIP: ipB = "" } = b;
  if (portA === portB && ipA === ipB) return "duplicate";
  if (portA === 0 || portB === 0) return "overlapping";
  const oneAnywhere = (ipA === "") !== (ipB === "");
  return portA === portB && oneAnywhere ? "dangerously ambiguous" : undefined;
}

function nameWarnings(ports: readonly PlacedPort[]): string[] {
  const warnings: string[] = [];
  const seen = new Map<string, Path>();
  for (const { port, path } of ports) {
    const { name = "" } = port;
    if (name === "") continue;
    const first = seen.get(name);
    if (first === undefined) seen.set(name, path);
    else {
      warnings.push(
        `${path}: duplicate port name ${goQuote(name)} with ${first}, services and probes that select ports by name will use ${first}`,
      );
    }
  }
  return warnings;
}

/** The port as clients know it from this one message. */
function goStruct({
  name = "",
  hostPort = 0,
  containerPort,
  protocol = "",
  hostIP = "",
}: ContainerPort): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol} HostIP:${hostIP}}`;
}
