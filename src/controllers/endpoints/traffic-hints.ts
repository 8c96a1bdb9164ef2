/** Hints that keep traffic close: each endpoint that is ready serves its own zone, or its own node. */
import type { Service } from "#api/generated/core.v1.ts";
import type { Endpoint } from "#api/generated/discovery.v1.ts";
import type { SliceDraft } from "./slice-object.ts";

const CLOSE = ["PreferClose", "PreferSameZone", "PreferSameNode"];

export function wantsCloseTraffic({ spec }: Service): boolean {
  return CLOSE.includes(spec.trafficDistribution ?? "");
}

export function withTrafficHints({ slice, old }: SliceDraft, { spec }: Service): SliceDraft {
  const known = new Map(
    (old?.endpoints ?? []).map((endpoint) => [JSON.stringify(endpoint.addresses), endpoint]),
  );
  const forNodes = spec.trafficDistribution === "PreferSameNode";
  const endpoints = (slice.endpoints ?? []).map((endpoint) =>
    hinted(endpoint, forNodes, known.get(JSON.stringify(endpoint.addresses))),
  );
  return { slice: { ...slice, endpoints }, ...(old === undefined ? {} : { old }) };
}

function hinted(endpoint: Endpoint, forNodes: boolean, old: Endpoint | undefined): Endpoint {
  // One that is not ready keeps the hints it has.
  if (endpoint.conditions.ready !== true) {
    return old?.hints === undefined ? endpoint : { ...endpoint, hints: old.hints };
  }
  const { zone, nodeName } = endpoint;
  const forNode = forNodes ? nodeName : undefined;
  if (zone === undefined && forNode === undefined) return endpoint;
  return {
    ...endpoint,
    hints: {
      ...(zone === undefined ? {} : { forZones: [{ name: zone }] }),
      ...(forNode === undefined ? {} : { forNodes: [{ name: forNode }] }),
    },
  };
}
