/**
 * How quota measures objects: which of a quota's resources a kind of object uses, how much of each,
 * and which scopes it falls into. Admission charges with it, the quota controller counts with it.
 */
import type {
  PersistentVolumeClaim,
  ResourceQuota,
  ScopedResourceSelectorRequirement,
  Service,
} from "#api/generated/core.v1.ts";
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import {
  compareQuantities,
  formatQuantity,
  quantityFrom,
  quantityOf,
  quantityValue,
} from "#api/meta/quantity.ts";
import { type Amounts, addAmounts } from "./amounts.ts";
import { type Measure, selects } from "./measure.ts";
import { podMeasure } from "./pod-measure.ts";

/** What is not stored, and what never was counted. */
const UNCOUNTED = new Set([
  "/bindings",
  "/componentstatuses",
  "/events",
  "events.k8s.io/events",
  "authentication.k8s.io/tokenreviews",
  "authentication.k8s.io/selfsubjectreviews",
  "authorization.k8s.io/subjectaccessreviews",
  "authorization.k8s.io/selfsubjectaccessreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
  "authorization.k8s.io/selfsubjectrulesreviews",
]);

/** Undefined for what quota does not count. Most objects count as one. */
export function measureOf(group: string, plural: string): Measure | undefined {
  const resource = `${group}/${plural}`;
  if (UNCOUNTED.has(resource)) return undefined;
  return MEASURES[resource] ?? countOnly(group, plural);
}

/** All of a quota's scopes: the old list and the selector. */
export function scopesOf({ spec }: ResourceQuota): ScopedResourceSelectorRequirement[] {
  return [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

export function isInAllScopes(measure: Measure, quota: ResourceQuota, object: KubeObject): boolean {
  return scopesOf(quota).every((scope) => measure.inScope(object, scope));
}

const ALIASES: Readonly<Record<string, string>> = {
  "/configmaps": "configmaps",
  "/replicationcontrollers": "replicationcontrollers",
  "/resourcequotas": "resourcequotas",
  "/secrets": "secrets",
};

function countName(group: string, plural: string): string {
  return `count/${plural}${group === "" ? "" : `.${group}`}`;
}

function countOnly(group: string, plural: string): Measure {
  const alias = ALIASES[`${group}/${plural}`];
  const names = [countName(group, plural), ...(alias === undefined ? [] : [alias])];
  const one = Object.fromEntries(names.map((name) => [name, "1"]));
  return {
    covers: (resource) => names.includes(resource),
    usage: () => one,
    inScope: () => false,
  };
}

const CLAIM_COUNT = "count/persistentvolumeclaims";
const CLASS_SUFFIX = ".storageclass.storage.k8s.io/";

const claimMeasure: Measure = {
  covers: (resource) => {
    const name = resource.split(CLASS_SUFFIX).at(-1)!;
    return (
      resource === CLAIM_COUNT || name === "persistentvolumeclaims" || name === "requests.storage"
    );
  },
  usage(object) {
    const claim = object as PersistentVolumeClaim;
    const { annotations } = claim.metadata;
    const storageClass =
      annotations?.["volume.beta.kubernetes.io/storage-class"] ?? claim.spec.storageClassName ?? "";
    const amounts: Record<string, string> = { persistentvolumeclaims: "1" };
    const storage = claimedStorage(claim);
    if (storage !== undefined) amounts["requests.storage"] = storage;
    const byClass = Object.entries(amounts).map(([name, amount]) => [
      `${storageClass}${CLASS_SUFFIX}${name}`,
      amount,
    ]);
    return {
      [CLAIM_COUNT]: "1",
      ...amounts,
      ...(storageClass === "" ? {} : Object.fromEntries(byClass)),
    };
  },
  inScope(object, scope) {
    if (scope.scopeName !== "VolumeAttributesClass") return false;
    return selects(scope, attributeClasses(object as PersistentVolumeClaim));
  },
};

/** Every class that the claim has, wants or is on its way to. */
export function attributeClasses({ spec, status }: PersistentVolumeClaim): string[] {
  const names = [
    spec.volumeAttributesClassName,
    status.currentVolumeAttributesClassName,
    status.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ];
  return [...new Set(names.filter((name) => name !== undefined && name !== ""))] as string[];
}

/** In whole bytes; what an expansion that failed has taken counts until it is given back. */
function claimedStorage({ spec, status }: PersistentVolumeClaim): string | undefined {
  const asked = spec.resources.requests?.storage;
  if (asked === undefined) return undefined;
  const allocated = status?.allocatedResources?.storage;
  const more =
    allocated !== undefined && compareQuantities(quantityOf(allocated), quantityOf(asked)) > 0;
  const amount = quantityOf(more ? allocated : asked);
  const whole = quantityFrom(quantityValue(amount), amount.format);
  return compareQuantities(whole, amount) === 0 ? formatQuantity(amount) : formatQuantity(whole);
}

const serviceMeasure: Measure = {
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
};

const DEVICES_SUFFIX = ".deviceclass.resource.k8s.io/devices";
const RESOURCE_CLAIM_COUNT = "count/resourceclaims.resource.k8s.io";
/** A claim for all devices of a class may get as many as one claim can hold. */
const DEVICES_MAX = 32;

const resourceClaimMeasure: Measure = {
  covers: (resource) => resource === RESOURCE_CLAIM_COUNT || resource.endsWith(DEVICES_SUFFIX),
  usage(object) {
    const { spec } = object as ResourceClaim;
    let usage: Amounts = { [RESOURCE_CLAIM_COUNT]: "1" };
    for (const { exactly, firstAvailable = [] } of spec.devices.requests ?? []) {
      const most = new Map<string, number>();
      for (const one of exactly === undefined ? firstAvailable : [exactly]) {
        const { deviceClassName, allocationMode, count = 0 } = one;
        const devices = allocationMode === "All" ? DEVICES_MAX : count;
        const name = `${deviceClassName}${DEVICES_SUFFIX}`;
        most.set(name, Math.max(most.get(name) ?? 0, devices));
      }
      const amounts = [...most].map(([name, devices]) => [name, String(devices)]);
      usage = addAmounts(usage, Object.fromEntries(amounts));
    }
    return usage;
  },
  inScope: () => false,
};

const MEASURES: Readonly<Record<string, Measure>> = {
  "/pods": podMeasure,
  "/persistentvolumeclaims": claimMeasure,
  "/services": serviceMeasure,
  "resource.k8s.io/resourceclaims": resourceClaimMeasure,
};
