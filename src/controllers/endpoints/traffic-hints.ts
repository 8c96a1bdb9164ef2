/** Hints that keep traffic close: each endpoint that is ready serves its own zone, or its own node. */
import type { Service } from "#api/generated/core.v1.ts";
import type { Endpoint } from "#api/generated/discovery.v1.ts";
import type { SliceDraft } from "./slice-object.ts";

const CLOSE = ["PreferClose", "PreferSameZone", "PreferSameNode"];

export function wantsCloseTraffic({ spec }: Service): boolean {
  return CLOSE.includes(spec.trafficDistribution ?? "");
}

export function withTrafficHints({ slice, old }: SliceDraft, { spec }: Service): SliceDraft {
  const forNodes = spec.trafficDistribution === "PreferSameNode";
  const endpoints = (slice.endpoints ?? []).map((endpoint) => hinted(endpoint, forNodes));
  return { slice: { ...slice, endpoints }, ...(old === undefined ? {} : { old }) };
}

function hinted(endpoint: Endpoint, forNodes: boolean): Endpoint {
  const { conditions, zone, nodeName } = endpoint;
  if (conditions.ready !== true) return endpoint;
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
