/** Which hints the endpoints of a service get: by its annotation, by its field, or none. */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { EventNote } from "#runtime/controller.ts";
import type { Family, SliceDraft } from "./slice-object.ts";
import { withZoneHints } from "./topology-hints.ts";
import { wantsCloseTraffic, withTrafficHints } from "./traffic-hints.ts";

/** The first that is there counts. */
const TOPOLOGY_MODES = [
  "service.kubernetes.io/topology-aware-hints",
  "service.kubernetes.io/topology-mode",
];

export interface Hinted {
  readonly drafts: readonly SliceDraft[];
  readonly events: readonly EventNote[];
}

interface World {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly shares: ReadonlyMap<string, number> | undefined;
}

/** The annotation comes before the field. Drafts have no hints, so none are left if none are wanted. */
export function withHints(
  drafts: readonly SliceDraft[],
  family: Family,
  { service, slices, shares }: World,
): Hinted {
  if (isTopologyAware(service)) {
    const hinted = withZoneHints(drafts, shares);
    if (!hinted.ok) {
      const message = `${hinted.why}, addressType: ${family}`;
      const reason = "TopologyAwareHintsDisabled";
      return { drafts, events: [{ about: service, type: "Warning", reason, message }] };
    }
    const hadHints = slices.some(({ endpoints }) => endpoints?.some(({ hints }) => hints));
    const message = `Topology Aware Hints has been enabled, addressType: ${family}`;
    const reason = "TopologyAwareHintsEnabled";
    const enabled: EventNote = { about: service, type: "Normal", reason, message };
    return { drafts: hinted.drafts, events: hadHints ? [] : [enabled] };
  }
  if (!wantsCloseTraffic(service)) return { drafts, events: [] };
  return { drafts: drafts.map((draft) => withTrafficHints(draft, service)), events: [] };
}

export function isTopologyAware({ metadata: { annotations = {} } }: Service): boolean {
  const mode = annotations[TOPOLOGY_MODES.find((name) => Object.hasOwn(annotations, name)) ?? ""];
  return mode === "Auto" || mode === "auto";
}
