/** The contract of a provider over a simulated cloud. */
import type { LoadBalancerStatus, Node, Service } from "#api/generated/core.v1.ts";
import type { CloudProvider } from "../../provider.ts";
import { SIMULATED, type SimulatedBalancer, type SimulatedCloud } from "./simulated-cloud.ts";

export function createSimulatedProvider(cloud: SimulatedCloud): CloudProvider {
  return {
    name: SIMULATED,
    loadBalancers: {
      get: async (_cluster, service, signal) => {
        const found = await cloud.balancerOf(keyOf(service), signal);
        return found === undefined ? undefined : statusOf(found);
      },
      ensure: async (_cluster, service, nodes, signal) =>
        statusOf(await cloud.ensureBalancer(balancerOf(service, nodes), signal)),
      update: (_cluster, service, nodes, signal) =>
        cloud.updateBalancer(keyOf(service), namesOf(nodes), signal),
      remove: (_cluster, service, signal) => cloud.removeBalancer(keyOf(service), signal),
    },
    instances: {
      exists: async (node, signal) => (await cloud.machineOf(node, signal)) !== undefined,
      isShutdown: async (node, signal) =>
        (await cloud.machineOf(node, signal))?.state === "stopped",
      metadata: async (node, signal) => {
        const machine = await cloud.machineOf(node, signal);
        if (machine === undefined) throw new Error("instance not found");
        const { id, type, zone, region, address } = machine;
        const addresses = [{ type: "InternalIP", address }] as const;
        return { providerId: `${SIMULATED}://${id}`, instanceType: type, zone, region, addresses };
      },
    },
    routes: {
      list: (_cluster, signal) => cloud.listRoutes(signal),
      create: (_cluster, nameHint, route, signal) => {
        const name = `${nameHint}-${route.destinationCidr.replace(/[/:.]/g, "-")}`;
        return cloud.createRoute({ ...route, name }, signal);
      },
      remove: (_cluster, { name }, signal) => cloud.removeRoute(name, signal),
    },
  };
}

function balancerOf(service: Service, nodes: readonly Node[]): Omit<SimulatedBalancer, "ip"> {
  const { ports = [], externalTrafficPolicy, healthCheckNodePort = 0 } = service.spec;
  const isLocal = externalTrafficPolicy === "Local" && healthCheckNodePort > 0;
  return {
    service: keyOf(service),
    ports: ports.map(({ port, protocol = "TCP", nodePort }) => `${protocol} ${port}:${nodePort}`),
    nodes: namesOf(nodes),
    healthCheckPort: isLocal ? healthCheckNodePort : undefined,
    sourceRanges: service.spec.loadBalancerSourceRanges ?? [],
  };
}

function statusOf({ ip }: SimulatedBalancer): LoadBalancerStatus {
  return { ingress: [{ ip }] };
}

function keyOf({ metadata }: Service): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function namesOf(nodes: readonly Node[]): readonly string[] {
  return nodes.map(({ metadata }) => metadata.name ?? "");
}
