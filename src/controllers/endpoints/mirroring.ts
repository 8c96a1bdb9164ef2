/**
 * Copies Endpoints of Services without a selector, which users maintain, into EndpointSlices, so
 * that consumers need to read slices only.
 */

import type {
  EndpointAddress,
  EndpointSubset,
  Endpoints,
  Service,
} from "#api/generated/core.v1.ts";
import type { Endpoint, EndpointPort, EndpointSlice } from "#api/generated/discovery.v1.ts";
import { endpointsKind } from "#api/kinds/core/v1/endpoints.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { formatIp, parseIp } from "#api/validation/ip.ts";
import {
  type Caches,
  type Controller,
  defineController,
  type EventNote,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { create, remove, update, type Write } from "#runtime/writes.ts";
import { measureMirrors } from "../metrics/services.ts";
import { controllerReference } from "../shared/ownership.ts";
import { keysOfSlice, slicesByService } from "./endpoint-slice.ts";
import { familyOf, TRIGGER_TIME } from "./service-pods.ts";
import { MANAGED_BY, namePrefix, SERVICE_NAME } from "./slice-object.ts";
import { isSameEndpoint, portsId } from "./slice-plan.ts";
import { packSubsets } from "./subsets.ts";

const MANAGER = "endpointslicemirroring-controller.k8s.io";
const SKIP = "endpointslice.kubernetes.io/skip-mirror";
const LEADER = "control-plane.alpha.kubernetes.io/leader";
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";
const ADDRESSES_MAX = 1000;

type Family = "IPv4" | "IPv6";

export interface MirrorState {
  readonly endpoints: Endpoints | undefined;
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
}

/** Mirrors at most so many addresses of each subset. */
export function endpointSliceMirroringController(
  addressesMax = ADDRESSES_MAX,
): Controller<MirrorState> {
  return defineController<MirrorState>({
    name: "endpointslice-mirroring-controller",
    rule: "EndpointSlices mirror Endpoints that users made",
    component: "endpoint-slice-mirroring-controller",
    feeds: [
      { kind: endpointsKind, keys: ownKey },
      { kind: serviceKind, keys: ownKey },
      { kind: endpointSliceKind, keys: keysOfSlice(MANAGER) },
    ],
    indexes: [slicesByService],
    observe,
    decide: (state) => decide(state, addressesMax),
    measure: measureMirrors,
  });
}

function observe(caches: Caches, { namespace, name }: Key): MirrorState {
  return {
    endpoints: caches(endpointsKind).get(namespace, name),
    service: caches(serviceKind).get(namespace, name),
    slices: [
      ...caches(endpointSliceKind).byIndex(slicesByService.name, `${namespace}/${name}`),
    ].filter(
      ({ metadata }) =>
        metadata.labels?.[MANAGED_BY] === MANAGER && metadata.deletionTimestamp === undefined,
    ),
  };
}

function decide({ endpoints, service, slices }: MirrorState, addressesMax: number): Outcome {
  if (endpoints === undefined || !isMirrored(endpoints, service)) {
    return { writes: slices.map((slice) => remove(endpointSliceKind, slice)) };
  }
  const wanted = wantedSlices(endpoints, addressesMax);
  const left = [...slices];
  const take = (test: (slice: EndpointSlice) => boolean): EndpointSlice | undefined => {
    const at = left.findIndex(test);
    return at < 0 ? undefined : left.splice(at, 1)[0];
  };
  const pairs = wanted.slices.map((slice) => ({
    slice,
    old: take(
      (old) => old.addressType === slice.addressType && portsId(old.ports) === portsId(slice.ports),
    ),
  }));
  const mayCreate = endpoints.metadata.deletionTimestamp === undefined;
  const writes = pairs.flatMap(({ slice, old }): readonly Write[] => {
    // One that is not needed any more can take the new content.
    const target = old ?? take(({ addressType }) => addressType === slice.addressType);
    if (target === undefined) return mayCreate ? [create(endpointSliceKind, slice)] : [];
    if (isSame(target, slice)) return [];
    const { name = "", uid = "", resourceVersion = "" } = target.metadata;
    const { generateName, ...kept } = slice.metadata;
    // Only one that is used again is as if newly made.
    const made = old !== undefined || generateName === undefined ? {} : { generateName };
    const metadata = { ...kept, ...made, name, uid, resourceVersion };
    return [update(endpointSliceKind, { ...slice, metadata })];
  });
  return {
    writes: [...writes, ...left.map((slice) => remove(endpointSliceKind, slice))],
    events: wanted.events,
  };
}

function isMirrored({ metadata }: Endpoints, service: Service | undefined): boolean {
  const isExcluded =
    metadata.labels?.[SKIP] === "true" || metadata.annotations?.[LEADER] !== undefined;
  return !isExcluded && service !== undefined && service.spec.selector === undefined;
}

interface Wanted {
  readonly slices: readonly EndpointSlice[];
  readonly events: readonly EventNote[];
}

/** One slice for each subset and family. */
function wantedSlices(endpoints: Endpoints, addressesMax: number): Wanted {
  const slices: EndpointSlice[] = [];
  let invalid = 0;
  let skipped = 0;
  for (const subset of packSubsets(endpoints.subsets ?? [])) {
    const byFamily = new Map<Family, Endpoint[]>();
    let taken = 0;
    for (const { address, ready } of addressesIn(subset)) {
      const parsed = parseIp(address.ip);
      if (taken >= addressesMax) skipped += 1;
      else if (parsed === undefined) invalid += 1;
      else {
        taken += 1;
        const family = familyOf(address.ip);
        const list = byFamily.get(family) ?? [];
        byFamily.set(family, list);
        list.push(endpointOf(address, formatIp(parsed), ready));
      }
    }
    const ports = (subset.ports ?? []).map(
      ({ name = "", ...port }): EndpointPort => ({ name, ...port }),
    );
    for (const [family, list] of byFamily) slices.push(newSlice(endpoints, family, ports, list));
  }
  return { slices, events: eventsOf(endpoints, invalid, skipped, addressesMax) };
}

function addressesIn({ addresses = [], notReadyAddresses = [] }: EndpointSubset) {
  return [
    ...addresses.map((address) => ({ address, ready: true })),
    ...notReadyAddresses.map((address) => ({ address, ready: false })),
  ];
}

function endpointOf(
  { targetRef, nodeName, hostname = "" }: EndpointAddress,
  ip: string,
  ready: boolean,
): Endpoint {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === "" ? {} : { hostname }),
    ...(targetRef === undefined ? {} : { targetRef }),
    ...(nodeName === undefined ? {} : { nodeName }),
  };
}

function newSlice(
  endpoints: Endpoints,
  addressType: Family,
  ports: readonly EndpointPort[],
  list: readonly Endpoint[],
): EndpointSlice {
  const { namespace, name = "", labels } = endpoints.metadata;
  const {
    [TRIGGER_TIME]: _,
    [LAST_APPLIED]: __,
    ...annotations
  } = endpoints.metadata.annotations ?? {};
  return {
    apiVersion: endpointSliceKind.apiVersion,
    kind: "EndpointSlice",
    metadata: {
      generateName: namePrefix(name),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...labels, [SERVICE_NAME]: name, [MANAGED_BY]: MANAGER },
      annotations,
      ownerReferences: [controllerReference(endpointsKind, endpoints)],
    },
    addressType,
    endpoints: list,
    ports,
  };
}

function isSame(old: EndpointSlice, next: EndpointSlice): boolean {
  const [a, b] = [old.endpoints ?? [], next.endpoints ?? []];
  return (
    semanticEqual(old.metadata.labels, next.metadata.labels) &&
    semanticEqual(old.metadata.annotations ?? {}, next.metadata.annotations ?? {}) &&
    semanticEqual(old.metadata.ownerReferences, next.metadata.ownerReferences) &&
    portsId(old.ports) === portsId(next.ports) &&
    a.length === b.length &&
    a.every((endpoint, i) => isSameEndpoint(endpoint, b[i]!))
  );
}

function eventsOf(
  about: Endpoints,
  invalid: number,
  skipped: number,
  addressesMax: number,
): readonly EventNote[] {
  const warning = (reason: string, message: string): EventNote => ({
    about,
    type: "Warning",
    reason,
    message,
  });
  return [
    ...(invalid === 0
      ? []
      : [
          warning(
            "InvalidIPAddress",
            `Skipped ${invalid} invalid IP addresses when mirroring to EndpointSlices`,
          ),
        ]),
    ...(skipped === 0
      ? []
      : [
          warning(
            "TooManyAddressesToMirror",
            `A max of ${addressesMax} addresses can be mirrored to EndpointSlices per Endpoints subset. ${skipped + invalid} addresses were skipped`,
          ),
        ]),
  ];
}
