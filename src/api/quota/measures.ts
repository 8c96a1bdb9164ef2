/**
 * How quota measures objects: which of a quota's resources a kind of object uses, how much of each,
 * and which scopes it falls into. Admission charges with it, the quota controller counts with it.
 */

import { qosClassOf } from "#api/core/v1/pod/qos.ts";
import { isExtendedResource, isNativeResource } from "#api/core/v1/resource-names.ts";
import type {
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
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
import { heldLimits, heldRequests } from "./pod-amounts.ts";

export interface Measure {
  /** Whether a quota's resource is about this kind of object. */
  covers(resource: string): boolean;
  usage(object: KubeObject, nowMs: number): Amounts;
  inScope(object: KubeObject, scope: ScopedResourceSelectorRequirement): boolean;
  /** What an object must say before it can be charged for these resources. */
  missing?(object: KubeObject, resources: readonly string[]): string | undefined;
}

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
function scopesOf({ spec }: ResourceQuota): ScopedResourceSelectorRequirement[] {
  return [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: "Exists" })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
}

export function isInAllScopes(measure: Measure, quota: ResourceQuota, object: KubeObject): boolean {
  return scopesOf(quota).every((scope) => measure.inScope(object, scope));
}

export function isTerminating({ spec }: Pod): boolean {
  return (spec.activeDeadlineSeconds ?? -1) >= 0;
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

const POD_COUNT = "count/pods";
const POD_RESOURCES = new Set([
  POD_COUNT,
  "pods",
  ...["cpu", "memory", "ephemeral-storage"].flatMap((name) => [
    name,
    `requests.${name}`,
    `limits.${name}`,
  ]),
]);
/** Quota of these obliges every container to say what it needs. An old mistake that clients know. */
const OBLIGING = ["cpu", "memory"].flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);
const IMPLICIT_CLASS = "deviceclass.resource.kubernetes.io/";

const podMeasure: Measure = {
  covers: (resource) =>
    POD_RESOURCES.has(resource) ||
    /^(requests\.)?hugepages-/.test(resource) ||
    (resource.startsWith("requests.") &&
      (!isNativeResource(resource) || resource.startsWith(`requests.${IMPLICIT_CLASS}`))),
  usage(object, nowMs) {
    const pod = object as Pod;
    const count = { [POD_COUNT]: "1" };
    if (!isCharged(pod, nowMs)) return count;
    return { ...count, ...computeUsage(heldRequests(pod), heldLimits(pod)) };
  },
  inScope: (object, scope) => podInScope(object as Pod, scope),
  missing(object, resources) {
    const { spec } = object as Pod;
    const ofPod = spec.resources;
    if (ofPod?.requests !== undefined || ofPod?.limits !== undefined) return undefined;
    const obliged = OBLIGING.filter((name) => resources.includes(name)).sort();
    const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
    const lacking = obliged.flatMap((name) => {
      const names = containers
        .filter(({ resources: own }) => {
          const used = computeUsage(own?.requests ?? {}, own?.limits ?? {});
          return used[name] === undefined;
        })
        .map((container) => container.name);
      return names.length === 0 ? [] : [`${name} for: ${[...new Set(names)].sort().join(",")}`];
    });
    return lacking.length === 0 ? undefined : `must specify ${lacking.join("; ")}`;
  },
};

/** Finished pods, and those whose node let their time pass, hold nothing any more. */
function isCharged({ metadata, status }: Pod, nowMs: number): boolean {
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return false;
  const { deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  if (!deletionTimestamp || deletionGracePeriodSeconds === undefined) return true;
  return nowMs <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1000;
}

function computeUsage(requests: Amounts, limits: Amounts): Amounts {
  const usage: Record<string, string> = { pods: "1" };
  for (const name of ["cpu", "memory", "ephemeral-storage"]) {
    const [request, limit] = [requests[name], limits[name]];
    if (request !== undefined)
      Object.assign(usage, { [name]: request, [`requests.${name}`]: request });
    if (limit !== undefined) usage[`limits.${name}`] = limit;
  }
  for (const [name, amount] of Object.entries(requests)) {
    if (name.startsWith("hugepages-")) {
      Object.assign(usage, { [name]: amount, [`requests.${name}`]: amount });
    } else if (isExtendedResource(name) || name.startsWith(IMPLICIT_CLASS)) {
      usage[`requests.${name}`] = amount;
    }
  }
  return usage;
}

function podInScope(pod: Pod, scope: ScopedResourceSelectorRequirement): boolean {
  switch (scope.scopeName) {
    case "Terminating":
      return isTerminating(pod);
    case "NotTerminating":
      return !isTerminating(pod);
    case "BestEffort":
      return qosClassOf(pod.spec) === "BestEffort";
    case "NotBestEffort":
      return qosClassOf(pod.spec) !== "BestEffort";
    case "PriorityClass": {
      const name = pod.spec.priorityClassName ?? "";
      return selects(scope, name === "" ? [] : [name]);
    }
    case "CrossNamespacePodAffinity":
      return affinityTerms(pod).some(
        ({ namespaces, namespaceSelector }) =>
          namespaces?.length || namespaceSelector !== undefined,
      );
    default:
      return false;
  }
}

function affinityTerms({ spec }: Pod): readonly PodAffinityTerm[] {
  return [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }) => podAffinityTerm,
    ),
  ]);
}

/** Whether one of the values is selected; no value at all can only be absent or not in a list. */
function selects(
  { operator, values = [] }: ScopedResourceSelectorRequirement,
  named: readonly string[],
): boolean {
  switch (operator) {
    case "In":
      return named.some((name) => values.includes(name));
    case "NotIn":
      return named.length === 0 || named.some((name) => !values.includes(name));
    case "Exists":
      return named.length > 0;
    case "DoesNotExist":
      return named.length === 0;
    default:
      return false;
  }
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
