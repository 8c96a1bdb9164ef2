/** Keeps for each service with a selector an Endpoints object that lists the addresses of its pods. */

import type {
  EndpointAddress,
  EndpointPort,
  EndpointSubset,
  Endpoints,
  Pod,
  Service,
} from "#api/generated/core.v1.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { create, noted, remove, update, type Write } from "#runtime/writes.ts";
import { isReady } from "../shared/pods.ts";
import {
  addressesOf,
  canServe,
  familyOf,
  HEADLESS,
  hasEndpoints,
  hostnameOf,
  isHeadless,
  keysOfPodChange,
  podsOf,
  TRIGGER_TIME,
  targetPort,
} from "./service-pods.ts";
import { addressCount, packSubsets, truncated } from "./subsets.ts";
import { type Seen, triggerOf } from "./trigger-times.ts";

const COMPONENT = "endpoint-controller";
const MANAGED_BY = "endpoints.kubernetes.io/managed-by";
const OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity";
const LEADER = "control-plane.alpha.kubernetes.io/leader";

export interface EndpointsState {
  readonly service: Service | undefined;
  readonly endpoints: Endpoints | undefined;
  readonly pods: readonly Pod[];
  /** What was seen of the pods when they were looked at last. */
  readonly seen: Seen | undefined;
}

export const endpointsController = defineController<EndpointsState, Seen>({
  name: "endpoints-controller",
  rule: "the addresses are those of the pods that the Service selects",
  component: COMPONENT,
  feeds: [
    { kind: serviceKind, keys: ownKey },
    { kind: podKind, keys: () => [], keysOfChange: keysOfPodChange },
    {
      kind: endpointsKind,
      // Leftovers of Services deleted while no controller ran are found once, at the start.
      keys: (endpoints: Endpoints) => (isLock(endpoints) ? [] : ownKey(endpoints)),
      keysOfChange: ({ old, next }) => (next === undefined && old !== undefined ? ownKey(old) : []),
    },
  ],
  observe: (caches, key, _reader, seen) => observe(caches, key, seen),
  decide,
});

function observe(caches: Caches, { namespace, name }: Key, seen: Seen | undefined): EndpointsState {
  const service = caches(serviceKind).get(namespace, name);
  const endpoints = caches(endpointsKind).get(namespace, name);
  const pods = service !== undefined && hasEndpoints(service) ? podsOf(caches, service) : [];
  return { service, endpoints, pods, seen };
}

function decide({ service, endpoints, pods, seen }: EndpointsState): Outcome<Seen> {
  if (service === undefined) {
    const isOurs = endpoints !== undefined && !isLock(endpoints);
    const writes = isOurs ? [remove(endpointsKind, endpoints)] : [];
    return { writes, remember: undefined };
  }
  if (!hasEndpoints(service)) return idle;
  const trigger = triggerOf(seen, service, pods);
  const write = writeFor(service, endpoints, pods, trigger.time);
  return { writes: write === undefined ? [] : [write], remember: trigger.seen };
}

function writeFor(
  service: Service,
  endpoints: Endpoints | undefined,
  pods: readonly Pod[],
  triggerTime: string | undefined,
): Write | undefined {
  const subsets = packSubsets(pods.flatMap((pod) => subsetsOf(pod, service)));
  const labels = labelsOf(service);
  const isOver = addressCount(subsets) > addressCount(truncated(subsets));
  const isSame =
    endpoints !== undefined &&
    !isOver &&
    endpoints.metadata.annotations?.[OVER_CAPACITY] === undefined &&
    semanticEqual(packSubsets(endpoints.subsets ?? []), subsets) &&
    semanticEqual(endpoints.metadata.labels ?? {}, labels);
  if (isSame) return undefined;
  const { [TRIGGER_TIME]: _, [OVER_CAPACITY]: __, ...kept } = endpoints?.metadata.annotations ?? {};
  const annotations = {
    ...kept,
    ...(triggerTime === undefined ? {} : { [TRIGGER_TIME]: triggerTime }),
    ...(isOver ? { [OVER_CAPACITY]: "truncated" } : {}),
  };
  const { namespace, name = "" } = service.metadata;
  const next: Endpoints = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: {
      ...(endpoints?.metadata ?? { name, ...(namespace === undefined ? {} : { namespace }) }),
      labels,
      annotations,
    },
    subsets: truncated(subsets),
  };
  // Cut down to what is there already, nothing is left to write.
  if (endpoints !== undefined && semanticEqual(withoutTime(endpoints), withoutTime(next)))
    return undefined;
  return endpoints === undefined ? creation(next) : replacement(next);
}

function creation(next: Endpoints) {
  const { namespace, name } = next.metadata;
  return noted(create(endpointsKind, next), {
    onRefused: {
      about: next,
      type: "Warning",
      reason: "FailedToCreateEndpoint",
      message: `Failed to create endpoint for service ${namespace}/${name}: {error}`,
    },
  });
}

function replacement(next: Endpoints) {
  const { namespace, name } = next.metadata;
  return noted(update(endpointsKind, next), {
    onRefused: {
      about: next,
      type: "Warning",
      reason: "FailedToUpdateEndpoint",
      message: `Failed to update endpoint ${namespace}/${name}: {error}`,
    },
  });
}

/** One subset for each port of the service that the pod serves. */
function subsetsOf(pod: Pod, service: Service): readonly EndpointSubset[] {
  const { publishNotReadyAddresses = false, ports = [] } = service.spec;
  if (!canServe(pod)) return [];
  if (pod.metadata.deletionTimestamp !== undefined && !publishNotReadyAddresses) return [];
  const address = addressOf(pod, service);
  if (address === undefined) return [];
  const list = publishNotReadyAddresses || isReady(pod) ? "addresses" : "notReadyAddresses";
  if (ports.length === 0) return service.spec.clusterIP === "None" ? [{ [list]: [address] }] : [];
  return ports.flatMap((servicePort) => {
    const { name, protocol, appProtocol } = servicePort;
    const port = targetPort(pod, servicePort);
    if (port === undefined) return [];
    const served: EndpointPort = {
      ...(name === undefined || name === "" ? {} : { name }),
      port,
      ...(protocol === undefined ? {} : { protocol }),
      ...(appProtocol === undefined ? {} : { appProtocol }),
    };
    return [{ [list]: [address], ports: [served] }];
  });
}

/** Endpoints are of one family: the service's first. */
function addressOf(pod: Pod, service: Service): EndpointAddress | undefined {
  const { ipFamilies = [], clusterIP = "" } = service.spec;
  const guess = isHeadless(service) ? (pod.status.podIP ?? "") : clusterIP;
  const family = (ipFamilies[0] as "IPv4" | "IPv6" | undefined) ?? familyOf(guess);
  const [ip] = addressesOf(pod, family);
  if (ip === undefined) return undefined;
  const hostname = hostnameOf(pod, service);
  const { nodeName } = pod.spec;
  const { namespace = "", name = "", uid = "" } = pod.metadata;
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

function labelsOf(service: Service): Readonly<Record<string, string>> {
  const { [HEADLESS]: _, ...labels } = service.metadata.labels ?? {};
  return { ...labels, ...(isHeadless(service) ? { [HEADLESS]: "" } : {}), [MANAGED_BY]: COMPONENT };
}

/** Old clients elect their leaders on Endpoints that have no service. */
function isLock({ metadata }: Endpoints): boolean {
  return metadata.annotations?.[LEADER] !== undefined;
}

function withoutTime({ metadata, subsets }: Endpoints): unknown {
  const { [TRIGGER_TIME]: _, ...annotations } = metadata.annotations ?? {};
  return { labels: metadata.labels ?? {}, annotations, subsets: subsets ?? [] };
}
