/** Which node ports a write of a Service takes, and which it no longer needs. */

import type { Service, ServicePort, ServiceSpec } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { needsHealthCheckPort, needsNodePorts } from "#api/kinds/core/v1/service/types.ts";
import {
  failure,
  internalErrorStatus,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { type FieldError, invalid } from "#api/validation/field-error.ts";
import { Path } from "#api/validation/path.ts";
import type { Finish } from "../write/write-hooks.ts";
import type { PortAllocator, PortOperation } from "./port-allocator.ts";
import { refused } from "./refusal.ts";

const NOTHING: Finish = async () => undefined;

export function nodePortsOf({ ports = [] }: ServiceSpec): number[] {
  return ports.flatMap(({ nodePort }) => (nodePort ? [nodePort] : []));
}

/** Fills in the node ports of the draft. */
export async function takeNodePorts(
  allocator: PortAllocator,
  draft: Draft<Service>,
  old: Service | undefined,
  dryRun: boolean,
): Promise<Result<Finish>> {
  const dropped = droppedPorts(draft.spec, old?.spec);
  if (!usesPorts(draft.spec) && !needsHealthCheckPort(draft.spec)) {
    if (dropped.length === 0 || dryRun) return success(NOTHING);
    return success(async (written) => {
      if (written) await allocator.release(dropped);
    });
  }
  const taken = await allocator.take(dryRun, (operation) => {
    const decided = decidePorts(draft, old?.spec, operation);
    if (!decided.ok) operation.forget();
    return decided;
  });
  if (!taken.ok) return taken;
  const { spec, added } = taken.value;
  draft.spec = spec;
  if (dryRun) return success(NOTHING);
  return success(async (written) => {
    const back = written ? droppedPorts(spec, old?.spec) : added;
    if (back.length > 0) await allocator.release(back);
  });
}

/** The spec with its ports filled in, and which of them are new. */
function decidePorts(
  draft: Draft<Service>,
  old: ServiceSpec | undefined,
  operation: PortOperation,
): Result<{ spec: Draft<ServiceSpec>; added: readonly number[] }> {
  const spec = structuredClone(draft.spec);
  if (usesPorts(spec)) {
    const fault =
      old === undefined ? takeForNew(spec, operation) : takeForChanged(spec, old, operation);
    if (fault !== undefined) return "field" in fault ? refused(draft, [fault]) : fault;
  }
  const unhealthy = takeHealthPort(spec, old, operation);
  if (unhealthy !== undefined) return failure(internalErrorStatus(unhealthy));
  return success({ spec, added: [...operation.added] });
}

type Fault = FieldError | Extract<Result<never>, { ok: false }>;

/** Ports of the same number share one node port, if one protocol was given it. */
function takeForNew(spec: Draft<ServiceSpec>, operation: PortOperation): Fault | undefined {
  const byPort = new Map<number, number>();
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort && !needsNodePorts(spec)) continue;
    const shared = byPort.get(port.port);
    if (shared !== undefined) {
      if (!port.nodePort) port.nodePort = shared;
      else if (port.nodePort !== shared) {
        const got = operation.allocate(port.nodePort);
        if (!got.ok) return portFault(i, port.nodePort, got.error);
      }
      continue;
    }
    const asked = requestedPort(port.port, spec.ports ?? []);
    const got = asked === 0 ? operation.allocateNext() : operation.allocate(asked);
    if (!got.ok) {
      if (asked !== 0) return portFault(i, asked, got.error);
      return failure(internalErrorStatus(`failed to allocate a nodePort: ${got.error}`));
    }
    port.nodePort = got.port;
    byPort.set(port.port, got.port);
  }
  return undefined;
}

function takeForChanged(
  spec: Draft<ServiceSpec>,
  old: ServiceSpec,
  operation: PortOperation,
): Fault | undefined {
  const before = new Set(nodePortsOf(old));
  const used = new Set<string>();
  for (const [i, port] of (spec.ports ?? []).entries()) {
    if (!port.nodePort && !needsNodePorts(spec)) continue;
    if (port.nodePort) {
      if (!before.has(port.nodePort) && !operation.added.has(port.nodePort)) {
        const got = operation.allocate(port.nodePort);
        if (!got.ok) return portFault(i, port.nodePort, got.error);
      }
    } else {
      const got = operation.allocateNext();
      if (!got.ok)
        return failure(internalErrorStatus(`failed to allocate a nodePort: ${got.error}`));
      port.nodePort = got.port;
    }
    const key = `${port.protocol} ${port.nodePort}`;
    if (used.has(key)) {
      return failure(unknownStatus(`duplicate nodePort: {${port.protocol} ${port.nodePort}}`));
    }
    used.add(key);
  }
  return undefined;
}

function takeHealthPort(
  spec: Draft<ServiceSpec>,
  old: ServiceSpec | undefined,
  operation: PortOperation,
): string | undefined {
  if (!needsHealthCheckPort(spec)) return undefined;
  if (old !== undefined && needsHealthCheckPort(old)) return undefined;
  const asked = spec.healthCheckNodePort ?? 0;
  const got = asked === 0 ? operation.allocateNext() : operation.allocate(asked);
  if (got.ok) {
    spec.healthCheckNodePort = got.port;
    return undefined;
  }
  return asked === 0
    ? `failed to allocate a HealthCheck NodePort 0: ${got.error}`
    : `failed to allocate requested HealthCheck NodePort ${asked}: ${got.error}`;
}

function droppedPorts(spec: ServiceSpec, old: ServiceSpec | undefined): number[] {
  if (old === undefined || !(usesPorts(old) || needsHealthCheckPort(old))) return [];
  const kept = new Set(usesPorts(spec) ? nodePortsOf(spec) : []);
  const dropped = nodePortsOf(old).filter((port) => !kept.has(port));
  const health = needsHealthCheckPort(old) && !needsHealthCheckPort(spec);
  return health && old.healthCheckNodePort ? [...dropped, old.healthCheckNodePort] : dropped;
}

function usesPorts({ type }: ServiceSpec): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}

function requestedPort(port: number, ports: readonly ServicePort[]): number {
  return ports.find((one) => one.port === port && one.nodePort)?.nodePort ?? 0;
}

function portFault(index: number, port: number, error: string): FieldError {
  return invalid(Path.of("spec", "ports").index(index).child("nodePort"), port, error);
}
