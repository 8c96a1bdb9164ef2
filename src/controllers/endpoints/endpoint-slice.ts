/**
 * Keeps for each service with a selector the EndpointSlices that list its pods: one group of slices
 * for each family of addresses and each set of ports that pods serve.
 */

import type { Node, Pod, Service } from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  type Change,
  type Controller,
  defineController,
  type EventNote,
  type IndexSpec,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { create, noted, remove, update, type Write } from "#runtime/writes.ts";
import { measureSlices } from "../metrics/services.ts";
import { foundByName } from "../shared/found-by-name.ts";
import { isReady } from "../shared/pods.ts";
import { PODS_BY_NODE, podsByNode } from "../shared/pods-by-node.ts";
import { isTopologyAware, withHints } from "./hints.ts";
import {
  addressesOf,
  canServe,
  familyOf,
  hasEndpoints,
  hostnameOf,
  keysOfPod,
  keysOfPodChange,
  podsOf,
  targetPort,
} from "./service-pods.ts";
import {
  type Family,
  hasLabels,
  isOwned,
  isPlaceholder,
  isUnchanged,
  MANAGED_BY,
  MANAGER,
  newSlice,
  SERVICE_NAME,
  type SliceDraft,
  sliceLabels,
  withTriggerTime,
} from "./slice-object.ts";
import { type Filled, planSlices, portsId } from "./slice-plan.ts";
import { ZONE, zoneShares } from "./topology-hints.ts";
import { type Seen, triggerOf } from "./trigger-times.ts";

const ENDPOINTS_MAX = 100;

export interface SliceState {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly pods: readonly Pod[];
  /** Of these pods, by name. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** What was seen of the pods when they were looked at last. */
  readonly seen: Seen | undefined;
  /** Of processors by zone, for a service that splits its traffic by them. */
  readonly shares: ReadonlyMap<string, number> | undefined;
}

/** Slices by the service that they say they belong to. */
export const slicesByService: IndexSpec<EndpointSlice> = {
  kind: endpointSliceKind,
  name: "service",
  values: ({ metadata }) => [`${metadata.namespace}/${metadata.labels?.[SERVICE_NAME] ?? ""}`],
};

/** Slices of at most so many endpoints each. */
export function endpointSliceController(
  endpointsMax = ENDPOINTS_MAX,
): Controller<SliceState | undefined, Seen> {
  return defineController<SliceState | undefined, Seen>({
    name: "endpointslice-controller",
    rule: "the slices hold the pods that the Service selects, with few changes",
    component: "endpoint-slice-controller",
    feeds: [
      { kind: serviceKind, keys: ownKey },
      { kind: podKind, keys: () => [], keysOfChange: keysOfPodChange },
      { kind: nodeKind, keys: () => [], keysOfChange: keysOfNodeChange },
      { kind: endpointSliceKind, keys: keysOfSlice(MANAGER) },
    ],
    indexes: [podsByNode, slicesByService],
    observe: (caches, key, _reader, seen) => observe(caches, key, seen),
    decide: (state) => (state === undefined ? idle : decide(state, endpointsMax)),
    measure: measureSlices,
  });
}

export function keysOfSlice(manager: string): (slice: EndpointSlice) => readonly Key[] {
  return ({ metadata: { namespace, labels = {} } }) => {
    const name = labels[SERVICE_NAME] ?? "";
    return name === "" || labels[MANAGED_BY] !== manager ? [] : [{ namespace, name }];
  };
}

/**
 * A pod whose node is not known yet is left out, because the node has the zone. Services with
 * topology hints depend on every node.
 */
function keysOfNodeChange({ old, next }: Change<Node>, caches: Caches): readonly Key[] {
  const capacityOf = (node: Node | undefined): unknown => [
    node?.metadata.labels?.[ZONE],
    node?.status.allocatable?.cpu,
    node?.status.conditions?.find(({ type }) => type === "Ready")?.status,
  ];
  const isNewOrGone = old === undefined || next === undefined;
  const isSame = !isNewOrGone && semanticEqual(capacityOf(old), capacityOf(next));
  if (isSame) return [];
  const aware = [...caches(serviceKind).list()].filter(isTopologyAware).flatMap(ownKey);
  if (!isNewOrGone && old.metadata.labels?.[ZONE] === next.metadata.labels?.[ZONE]) return aware;
  const name = (next ?? old)?.metadata.name ?? "";
  const pods = [...caches(podKind).byIndex(PODS_BY_NODE, name)];
  return [...aware, ...pods.flatMap((pod) => keysOfPod(pod, caches))];
}

function observe(
  caches: Caches,
  { namespace, name }: Key,
  seen: Seen | undefined,
): SliceState | undefined {
  const service = caches(serviceKind).get(namespace, name);
  if (service === undefined || !hasEndpoints(service)) return undefined;
  const pods = podsOf(caches, service);
  const nodeNames = pods.map(({ spec }) => spec.nodeName ?? "");
  return {
    service,
    slices: [
      ...caches(endpointSliceKind).byIndex(slicesByService.name, `${namespace}/${name}`),
    ].filter(
      ({ metadata }) =>
        metadata.labels?.[MANAGED_BY] === MANAGER && metadata.deletionTimestamp === undefined,
    ),
    pods,
    nodes: foundByName(caches, nodeKind, undefined, nodeNames),
    seen,
    shares: isTopologyAware(service) ? zoneShares(caches(nodeKind).list()) : undefined,
  };
}

function decide(state: SliceState, endpointsMax: number): Outcome<Seen> {
  const { service, pods } = state;
  const trigger = triggerOf(state.seen, service, pods);
  const families = familiesOf(service);
  const strange = state.slices.filter(({ addressType }) => !families.has(addressType as Family));
  const rounds = [...families].map((family) => roundFor(family, state, trigger.time, endpointsMax));
  return {
    events: rounds.flatMap(({ events }) => events),
    writes: [
      ...rounds.flatMap(({ writes }) => writes),
      ...strange.map((slice) =>
        withFailureEvent(service, "delete", remove(endpointSliceKind, slice)),
      ),
    ],
    remember: trigger.seen,
  };
}

interface Round {
  readonly writes: readonly Write[];
  readonly events: readonly EventNote[];
}

interface Group {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
}

function roundFor(
  family: Family,
  state: SliceState,
  triggerTime: string | undefined,
  endpointsMax: number,
): Round {
  const { service } = state;
  const slices = state.slices.filter(({ addressType }) => addressType === family);
  const owned = slices.filter((slice) => isOwned(slice, service));
  const groups = groupsOf(family, state);
  const deleted = slices.filter((slice) => !isOwned(slice, service));
  const kept: Filled[] = [];
  const created: EndpointSlice[] = [];
  for (const [id, { ports, endpoints }] of groups) {
    const existing = owned.filter((slice) => portsId(slice.ports) === id);
    const plan = planSlices(
      existing,
      endpoints,
      endpointsMax,
      (slice) => !hasLabels(slice, service),
    );
    kept.push(...plan.kept);
    deleted.push(...plan.deleted);
    created.push(...plan.created.map((list) => newSlice(service, family, ports, list)));
  }
  const unwanted = owned.filter((slice) => !groups.has(portsId(slice.ports)));
  if (kept.length + created.length === 0) {
    // A slice without endpoints says that there are none; its absence would say nothing.
    const placeholder = newSlice(service, family, [], []);
    const [only, ...others] = [...deleted, ...unwanted];
    if (only !== undefined && others.length === 0 && isPlaceholder(only, service)) {
      return { writes: [], events: [] };
    }
    created.push(placeholder);
  }
  const leaving = [...deleted, ...unwanted];
  const reusable = leaving.filter((slice) => isOwned(slice, service)).slice(0, created.length);
  const { drafts, events } = withHints(draftsOf(service, kept, created, reusable), family, state);
  const gone = leaving.filter((slice) => !reusable.includes(slice));
  return { writes: sliceWrites(service, drafts, gone, triggerTime), events };
}

/** Creates where something is to be deleted become updates of that. */
function draftsOf(
  service: Service,
  kept: readonly Filled[],
  created: readonly EndpointSlice[],
  reusable: readonly EndpointSlice[],
): readonly SliceDraft[] {
  const labels = sliceLabels(service);
  return [
    ...kept.map(({ slice, endpoints }) => ({
      slice: { ...slice, metadata: { ...slice.metadata, labels }, endpoints },
      old: slice,
    })),
    ...created.map((slice, i) => {
      const old = reusable[i];
      return old === undefined
        ? { slice }
        : { slice: { ...slice, metadata: { ...old.metadata, labels } }, old };
    }),
  ];
}

function sliceWrites(
  service: Service,
  drafts: readonly SliceDraft[],
  deleted: readonly EndpointSlice[],
  triggerTime: string | undefined,
): readonly Write[] {
  const isGoing = service.metadata.deletionTimestamp !== undefined;
  const fresh = drafts.filter(({ old }) => old === undefined && !isGoing);
  const changed = drafts.filter((draft) => draft.old !== undefined && !isUnchanged(draft, service));
  const timed = ({ slice }: SliceDraft): EndpointSlice => withTriggerTime(slice, triggerTime);
  return [
    ...fresh.map((draft) =>
      withFailureEvent(service, "create", create(endpointSliceKind, timed(draft))),
    ),
    ...changed.map((draft) =>
      withFailureEvent(service, "update", update(endpointSliceKind, timed(draft))),
    ),
    ...deleted.map((slice) =>
      withFailureEvent(service, "delete", remove(endpointSliceKind, slice)),
    ),
  ];
}

function groupsOf(family: Family, { service, pods, nodes }: SliceState): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const pod of pods) {
    if (!canServe(pod)) continue;
    const ports = portsOf(pod, service);
    const id = portsId(ports);
    const group = groups.get(id) ?? { ports, endpoints: [] };
    groups.set(id, group);
    const node = nodes.get(pod.spec.nodeName ?? "");
    if (node === undefined && service.spec.publishNotReadyAddresses !== true) continue;
    const addresses = addressesOf(pod, family);
    if (addresses.length > 0) group.endpoints.push(endpointOf(pod, node, service, addresses));
  }
  return groups;
}

function endpointOf(
  pod: Pod,
  node: Node | undefined,
  service: Service,
  addresses: readonly string[],
): Endpoint {
  const serving = isReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  const { nodeName = "" } = pod.spec;
  const zone = node?.metadata.labels?.[ZONE] ?? "";
  const hostname = hostnameOf(pod, service);
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname === undefined ? {} : { hostname }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName === "" ? {} : { nodeName }),
    ...(zone === "" ? {} : { zone }),
  };
}

function portsOf(pod: Pod, { spec }: Service): readonly EndpointPort[] {
  return (spec.ports ?? []).flatMap((servicePort) => {
    const { name = "", protocol, appProtocol } = servicePort;
    const port = targetPort(pod, servicePort);
    if (port === undefined) return [];
    const rest = {
      ...(protocol === undefined ? {} : { protocol }),
      ...(appProtocol === undefined ? {} : { appProtocol }),
    };
    return [{ name, port, ...rest }];
  });
}

/** From a server that does not know families yet, a headless service may have both. */
function familiesOf({ spec }: Service): ReadonlySet<Family> {
  const { ipFamilies = [], clusterIP = "" } = spec;
  if (ipFamilies.length > 0) return new Set(ipFamilies as readonly Family[]);
  if (clusterIP !== "" && clusterIP !== "None") return new Set([familyOf(clusterIP)]);
  return new Set<Family>(["IPv4", "IPv6"]);
}

function withFailureEvent(
  service: Service,
  verb: "create" | "update" | "delete",
  write: Write,
): Write {
  const { namespace, name } = service.metadata;
  const message = `Error updating Endpoint Slices for Service ${namespace}/${name}: failed to ${verb} EndpointSlice for Service ${namespace}/${name}: {error}`;
  const reason = "FailedToUpdateEndpointSlices";
  return noted(write, { onRefused: { about: service, type: "Warning", reason, message } });
}
