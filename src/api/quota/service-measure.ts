/** What Services cost: themselves, their node ports and load balancers. */
import type { Service } from "#api/generated/core.v1.ts";
import type { Measure } from "./measure.ts";

export const serviceMeasure: Measure = {
  covers: (resource) =>
    ["count/services", "services", "services.nodeports", "services.loadbalancers"].includes(
      resource,
    ),
  usage(object) {
    const { spec } = object as Service;
    const ports = spec.ports ?? [];
    const balanced = spec.type === "LoadBalancer";
    const chosen = balanced && spec.allocateLoadBalancerNodePorts === false;
    const nodePorts = chosen ? ports.filter(({ nodePort }) => nodePort) : ports;
    const counted = balanced || spec.type === "NodePort" ? nodePorts.length : 0;
    return {
      "count/services": "1",
      services: "1",
      "services.loadbalancers": balanced ? "1" : "0",
      "services.nodeports": String(counted),
    };
  },
  inScope: () => false,
  changesWith: (subresource) => subresource === "",
};
