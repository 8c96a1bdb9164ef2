/**
 * Keeps for each service with a selector the EndpointSlices that list its pods: one group of slices
 * for each family of addresses and each set of ports that pods serve.
 */
import { nodeKind } from "#api/core/v1/node.ts";
import { podKind } from "#api/core/v1/pod.ts";
import { serviceKind } from "#api/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/discovery/v1/endpoint-slice.ts";
import type { Node, Pod, Service } from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  type Change,
  type Controller,
  defineController,
  type IndexSpec,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { create, noted, remove, update, type Write } from "#runtime/writes.ts";
import { controllerReference } from "../ownership.ts";
import { isReady } from "../pods.ts";
import { PODS_BY_NODE, podsByNode } from "../pods-by-node.ts";
import {
  addressesOf,
  canServe,
  familyOf,
  HEADLESS,
  hasEndpoints,
  hostnameOf,
  isHeadless,
  keysOfPod,
  keysOfPodChange,
  podsOf,
  TRIGGER_TIME,
  targetPort,
} from "./service-pods.ts";
import { type Filled, planSlices, portsId } from "./slice-plan.ts";
import { withHints } from "./traffic-hints.ts";
import { TriggerTimes } from "./trigger-times.ts";

export const SERVICE_NAME = "kubernetes.io/service-name";
export const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
const MANAGER = "endpointslice-controller.k8s.io";
const ZONE = "topology.kubernetes.io/zone";
const RESERVED = new Set([SERVICE_NAME, MANAGED_BY, HEADLESS]);
const ENDPOINTS_MAX = 100;
const GENERATED_NAME_MAX = 253;

type Family = "IPv4" | "IPv6";

export interface SliceState {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  readonly pods: readonly Pod[];
  nodeNamed(name: string): Node | undefined;
  readonly triggerTime: string | undefined;
}

/** Slices by the service that they say they belong to. */
export const slicesByService: IndexSpec<EndpointSlice> = {
  kind: endpointSliceKind,
  name: "service",
  values: ({ metadata }) => [`${metadata.namespace}/${metadata.labels?.[SERVICE_NAME] ?? ""}`],
};

export function createEndpointSliceController(): Controller<SliceState | undefined> {
  const triggerTimes = new TriggerTimes();
  return defineController<SliceState | undefined>({
    name: "endpointslice-controller",
    component: "endpoint-slice-controller",
    feeds: [
      { kind: serviceKind, keys: ownKey },
      { kind: podKind, keys: () => [], keysOfChange: keysOfPodChange },
      { kind: nodeKind, keys: () => [], keysOfChange: keysOfNodeChange },
      { kind: endpointSliceKind, keys: keysOfSlice(MANAGER) },
    ],
    indexes: [podsByNode, slicesByService],
    observe: (caches, key) => observe(caches, key, triggerTimes),
    decide: (state) => (state === undefined ? idle : decide(state)),
  });
}

export function keysOfSlice(manager: string): (slice: EndpointSlice) => readonly Key[] {
  return ({ metadata: { namespace, labels = {} } }) => {
    const name = labels[SERVICE_NAME] ?? "";
    return name === "" || labels[MANAGED_BY] !== manager ? [] : [{ namespace, name }];
  };
}

/** A pod whose node is not known yet is left out, and a node tells the zone of its pods. */
function keysOfNodeChange({ old, next }: Change<Node>, caches: Caches): readonly Key[] {
  const zoneOf = (node: Node | undefined): string | undefined => node?.metadata.labels?.[ZONE];
  const isSame = old !== undefined && next !== undefined && zoneOf(old) === zoneOf(next);
  if (isSame) return [];
  const name = (next ?? old)?.metadata.name ?? "";
  return [...caches(podKind).byIndex(PODS_BY_NODE, name)].flatMap((pod) => keysOfPod(pod, caches));
}

function observe(
  caches: Caches,
  { namespace, name }: Key,
  triggerTimes: TriggerTimes,
): SliceState | undefined {
  const service = caches(serviceKind).get(namespace, name);
  if (service === undefined) triggerTimes.forget(namespace, name);
  if (service === undefined || !hasEndpoints(service)) return undefined;
  const pods = podsOf(caches, service);
  return {
    service,
    slices: [
      ...caches(endpointSliceKind).byIndex(slicesByService.name, `${namespace}/${name}`),
    ].filter(
      ({ metadata }) =>
        metadata.labels?.[MANAGED_BY] === MANAGER && metadata.deletionTimestamp === undefined,
    ),
    pods,
    nodeNamed: (nodeName) => caches(nodeKind).get(undefined, nodeName),
    triggerTime: triggerTimes.next(service, pods),
  };
}

export function decide(state: SliceState): Outcome {
  const families = familiesOf(state.service);
  const strange = state.slices.filter(({ addressType }) => !families.has(addressType as Family));
  return {
    writes: [
      ...[...families].flatMap((family) => writesFor(family, state)),
      ...strange.map((slice) => told(state.service, "delete", remove(endpointSliceKind, slice))),
    ],
  };
}

interface Group {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: Endpoint[];
}

function writesFor(family: Family, state: SliceState): readonly Write[] {
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
      ENDPOINTS_MAX,
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
    if (only !== undefined && others.length === 0 && isPlaceholder(only, service)) return [];
    created.push(placeholder);
  }
  return [...sliceWrites(state, kept, created, [...deleted, ...unwanted])];
}

/** Creates where something is to be deleted become updates of that. */
function sliceWrites(
  { service, triggerTime }: SliceState,
  kept: readonly Filled[],
  created: readonly EndpointSlice[],
  deleted: readonly EndpointSlice[],
): readonly Write[] {
  const reusable = deleted.filter((slice) => isOwned(slice, service)).slice(0, created.length);
  const reused = reusable.map((slice, i) => {
    const { labels = {} } = created[i]!.metadata;
    return { ...created[i]!, metadata: { ...slice.metadata, labels } };
  });
  const fresh = created.slice(reusable.length);
  const changed = kept.flatMap(({ slice, endpoints }) => {
    const next = hinted({ ...slice, endpoints: [...endpoints] }, service, slice);
    const labels = sliceLabels(service);
    const isSame =
      semanticEqual(withoutRevisions(next), withoutRevisions(slice)) && hasLabels(slice, service);
    return isSame ? [] : [{ ...next, metadata: { ...slice.metadata, labels } }];
  });
  const updates = [...changed, ...reused.map((slice) => hinted(slice, service))];
  const creates = service.metadata.deletionTimestamp === undefined ? fresh : [];
  return [
    ...creates.map((slice) =>
      told(
        service,
        "create",
        create(endpointSliceKind, withTriggerTime(hinted(slice, service), triggerTime)),
      ),
    ),
    ...updates.map((slice) =>
      told(service, "update", update(endpointSliceKind, withTriggerTime(slice, triggerTime))),
    ),
    ...deleted
      .filter((slice) => !reusable.includes(slice))
      .map((slice) => told(service, "delete", remove(endpointSliceKind, slice))),
  ];
}

function groupsOf(family: Family, { service, pods, nodeNamed }: SliceState): Map<string, Group> {
  const groups = new Map<string, Group>();
  for (const pod of pods) {
    if (!canServe(pod)) continue;
    const ports = portsOf(pod, service);
    const id = portsId(ports);
    const group = groups.get(id) ?? { ports, endpoints: [] };
    groups.set(id, group);
    const node = nodeNamed(pod.spec.nodeName ?? "");
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

function newSlice(
  service: Service,
  addressType: Family,
  ports: readonly EndpointPort[],
  endpoints: readonly Endpoint[],
): EndpointSlice {
  const { namespace } = service.metadata;
  return {
    apiVersion: endpointSliceKind.apiVersion,
    kind: "EndpointSlice",
    metadata: {
      generateName: namePrefix(service.metadata.name ?? ""),
      ...(namespace === undefined ? {} : { namespace }),
      labels: sliceLabels(service),
      ownerReferences: [controllerReference(serviceKind, service)],
    },
    addressType,
    endpoints,
    ports,
  };
}

/** With a dash, if the name is not too long for it. */
export function namePrefix(serviceName: string): string {
  return serviceName.length < GENERATED_NAME_MAX ? `${serviceName}-` : serviceName;
}

function sliceLabels(service: Service): Readonly<Record<string, string>> {
  return {
    ...ownLabels(service.metadata.labels),
    ...(isHeadless(service) ? { [HEADLESS]: "" } : {}),
    [SERVICE_NAME]: service.metadata.name ?? "",
    [MANAGED_BY]: MANAGER,
  };
}

function hasLabels({ metadata }: EndpointSlice, service: Service): boolean {
  return semanticEqual(ownLabels(metadata.labels), ownLabels(service.metadata.labels));
}

function ownLabels(labels: Readonly<Record<string, string>> = {}) {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !RESERVED.has(key)));
}

function isOwned({ metadata }: EndpointSlice, service: Service): boolean {
  return (metadata.ownerReferences ?? []).some(
    ({ uid, kind, apiVersion }) =>
      uid === service.metadata.uid && kind === "Service" && apiVersion === "v1",
  );
}

function isPlaceholder(slice: EndpointSlice, service: Service): boolean {
  return (
    isOwned(slice, service) &&
    (slice.endpoints ?? []).length + (slice.ports ?? []).length === 0 &&
    semanticEqual(slice.metadata.labels, sliceLabels(service))
  );
}

function hinted(slice: EndpointSlice, service: Service, old?: EndpointSlice): EndpointSlice {
  const known = new Map(
    (old?.endpoints ?? []).map((endpoint) => [JSON.stringify(endpoint.addresses), endpoint]),
  );
  const endpoints = (slice.endpoints ?? []).map((endpoint) =>
    withHints(endpoint, service, known.get(JSON.stringify(endpoint.addresses))),
  );
  return { ...slice, endpoints };
}

function withoutRevisions({ endpoints }: EndpointSlice): unknown {
  return (endpoints ?? []).map(({ targetRef, ...rest }) => {
    const { resourceVersion: _, ...reference } = targetRef ?? {};
    return { ...rest, reference };
  });
}

function withTriggerTime(slice: EndpointSlice, time: string | undefined): EndpointSlice {
  const { annotations, ...metadata } = slice.metadata;
  const { [TRIGGER_TIME]: _, ...kept } = annotations ?? {};
  const next = time === undefined ? kept : { ...kept, [TRIGGER_TIME]: time };
  const isEmpty = Object.keys(next).length === 0;
  return { ...slice, metadata: isEmpty ? metadata : { ...metadata, annotations: next } };
}

function told(service: Service, verb: "create" | "update" | "delete", write: Write): Write {
  const { namespace, name } = service.metadata;
  const message = `Error updating Endpoint Slices for Service ${namespace}/${name}: failed to ${verb} EndpointSlice for Service ${namespace}/${name}: {error}`;
  const reason = "FailedToUpdateEndpointSlices";
  return noted(write, { onRefused: { about: service, type: "Warning", reason, message } });
}
