/** Hints that keep traffic close: each endpoint that is ready serves its own zone, or its own node. */
import type { Service } from "#api/generated/core.v1.ts";
import type { Endpoint } from "#api/generated/discovery.v1.ts";

const CLOSE = ["PreferClose", "PreferSameZone", "PreferSameNode"];

export function withHints(endpoint: Endpoint, { spec }: Service, old?: Endpoint): Endpoint {
  const { trafficDistribution = "" } = spec;
  if (!CLOSE.includes(trafficDistribution)) return endpoint;
  // One that is not ready keeps the hints it has.
  if (endpoint.conditions.ready !== true) {
    return old?.hints === undefined ? endpoint : { ...endpoint, hints: old.hints };
  }
  const { zone, nodeName } = endpoint;
  const forNode = trafficDistribution === "PreferSameNode" ? nodeName : undefined;
  if (zone === undefined && forNode === undefined) return endpoint;
  return {
    ...endpoint,
    hints: {
      ...(zone === undefined ? {} : { forZones: [{ name: zone }] }),
      ...(forNode === undefined ? {} : { forNodes: [{ name: forNode }] }),
    },
  };
}
