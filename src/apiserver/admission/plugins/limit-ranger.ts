/** LimitRanger: defaults and bounds of resource requests and limits of containers, pods and claims. */

import type {
  Container,
  LimitRange,
  LimitRangeItem,
  Pod,
  ResourceList,
} from "#api/generated/core.v1.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { limitRangeKind } from "#api/kinds/core/v1/resources/limit-range.ts";
import {
  compareQuantities,
  type Quantity,
  quantityMilliValue,
  quantityOf,
  quantitySign,
} from "#api/meta/quantity.ts";
import { success } from "#api/meta/status.ts";
import { podLimits, podRequests } from "#api/quota/pod-amounts.ts";
import { aggregateText } from "../../config/aggregate-text.ts";
import type { Objects } from "../../storage/objects.ts";
import type { AdmissionRequest } from "../admission-request.ts";
import { withFields, withMetadata, withSpec } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";
import { refuse } from "../refuse.ts";
import { objectOfKind } from "../requests.ts";

const ANNOTATION = "kubernetes.io/limit-ranger";

export const limitRanger: AdmissionPlugin = {
  name: "LimitRanger",
  operations: ["CREATE", "UPDATE"],
  admit(request, { objects }) {
    const pod = podOf(request);
    if (pod === undefined) return;
    let next = pod;
    for (const range of rangesOf(request, objects)) next = withDefaults(next, range);
    return next === pod ? undefined : success(next);
  },
  validate(request, { objects }) {
    const pod = podOf(request);
    const claim =
      pod === undefined
        ? objectOfKind(request, persistentVolumeClaimKind, ["CREATE", "UPDATE"])
        : undefined;
    if ((pod ?? claim) === undefined) return;
    for (const range of rangesOf(request, objects)) {
      const faults = (range.spec.limits ?? []).flatMap((limit) => {
        if (pod !== undefined) return podFaults(pod, limit);
        return limit.type === "PersistentVolumeClaim"
          ? claimFaults(claim!.spec.resources.requests ?? {}, limit)
          : [];
      });
      if (faults.length > 0) return refuse(request, aggregateText(faults));
    }
    return undefined;
  },
};

/** Containers cannot be changed later except by a resize. */
function podOf(request: AdmissionRequest): Pod | undefined {
  return (
    objectOfKind(request, podKind, ["CREATE"]) ??
    objectOfKind(request, podKind, ["UPDATE"], "resize")
  );
}

function rangesOf({ namespace, old }: AdmissionRequest, objects: Objects): Iterable<LimitRange> {
  return old?.metadata.deletionTimestamp ? [] : objects.list(limitRangeKind, namespace);
}

function withDefaults(pod: Pod, { spec }: LimitRange): Pod {
  const items = (spec.limits ?? []).filter(({ type }) => type === "Container");
  const defaults: Defaults = {
    requests: Object.assign({}, ...items.map((item) => item.defaultRequest)),
    limits: Object.assign({}, ...items.map((item) => item.default)),
  };
  const notes: string[] = [];
  const filled = (what: string, containers: readonly Container[]): Container[] =>
    containers.map((container) => containerWith(container, defaults, what, notes));
  const { containers, initContainers } = pod.spec;
  const next = withSpec(pod, {
    ...(containers && { containers: filled("container", containers) }),
    ...(initContainers && { initContainers: filled("init container", initContainers) }),
  });
  if (notes.length === 0) return next;
  const annotation = `LimitRanger plugin set: ${notes.join("; ")}`;
  return withMetadata(next, {
    annotations: { ...pod.metadata.annotations, [ANNOTATION]: annotation },
  });
}

type Defaults = Readonly<Record<"requests" | "limits", ResourceList>>;

/** Adds to `notes` what was missing. */
function containerWith(
  container: Container,
  defaults: Defaults,
  what: string,
  notes: string[],
): Container {
  const given = container.resources ?? {};
  let resources: Container["resources"] = given;
  for (const side of ["requests", "limits"] as const) {
    const missing = Object.keys(defaults[side])
      .filter((name) => given[side]?.[name] === undefined)
      .sort();
    if (missing.length === 0) continue;
    const added = missing.map((name) => [name, defaults[side][name]!] as const);
    const filled = { ...given[side], ...Object.fromEntries(added) };
    resources = withFields(resources, { [side]: filled });
    notes.push(`${missing.join(", ")} ${side.slice(0, -1)} for ${what} ${container.name}`);
  }
  return withFields(container, { resources });
}

function podFaults(pod: Pod, limit: LimitRangeItem): string[] {
  if (limit.type === "Pod") return bounds(limit, podRequests(pod), podLimits(pod));
  if (limit.type !== "Container") return [];
  const containers = [...(pod.spec.containers ?? []), ...(pod.spec.initContainers ?? [])];
  return containers.flatMap(({ resources }) =>
    bounds(limit, resources?.requests ?? {}, resources?.limits ?? {}),
  );
}

function bounds(limit: LimitRangeItem, requests: ResourceList, limits: ResourceList): string[] {
  const { type } = limit;
  return [
    ...each(limit.min, (name, min) => minFault(type, name, min, requests, limits)),
    ...each(limit.max, (name, max) => maxFault(type, name, max, requests, limits)),
    ...each(limit.maxLimitRequestRatio, (name, ratio) =>
      ratioFault(type, name, ratio, requests[name], limits[name]),
    ),
  ];
}

function each(
  list: ResourceList = {},
  fault: (name: string, amount: string) => string | undefined,
): string[] {
  return Object.entries(list).flatMap(([name, amount]) => fault(name, amount) ?? []);
}

function minFault(
  type: string,
  name: string,
  min: string,
  requests: ResourceList,
  limits: ResourceList,
): string | undefined {
  const rule = `minimum ${name} usage per ${type} is ${min}`;
  const [request, limit] = [requests[name], limits[name]];
  if (request === undefined) return `${rule}.  No request is specified`;
  if (isLess(request, min)) return `${rule}, but request is ${request}`;
  return limit !== undefined && isLess(limit, min) ? `${rule}, but limit is ${limit}` : undefined;
}

function maxFault(
  type: string,
  name: string,
  max: string,
  requests: ResourceList,
  limits: ResourceList,
): string | undefined {
  const rule = `maximum ${name} usage per ${type} is ${max}`;
  const [request, limit] = [requests[name], limits[name]];
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (isLess(max, limit)) return `${rule}, but limit is ${limit}`;
  return request !== undefined && isLess(max, request)
    ? `${rule}, but request is ${request}`
    : undefined;
}

function ratioFault(
  type: string,
  name: string,
  ratio: string,
  request: string | undefined,
  limit: string | undefined,
): string | undefined {
  const rule = `${name} max limit to request ratio per ${type} is ${ratio}`;
  const [asked, bound] = [request, limit].map((text) => quantityOf(text ?? "0")) as [
    Quantity,
    Quantity,
  ];
  if (quantitySign(asked) === 0) return `${rule}, but no request is specified or request is 0`;
  if (quantitySign(bound) === 0) return `${rule}, but no limit is specified or limit is 0`;
  const provided = quantityMilliValue(bound) / quantityMilliValue(asked);
  return provided * 1000 > quantityMilliValue(quantityOf(ratio))
    ? `${rule}, but provided ratio is ${provided.toFixed(6)}`
    : undefined;
}

/** A claim knows no limits: only what it requests counts. */
function claimFaults(requests: ResourceList, limit: LimitRangeItem): string[] {
  const maxRequest = (name: string, max: string): string | undefined => {
    const rule = `maximum ${name} usage per ${limit.type} is ${max}`;
    const request = requests[name];
    if (request === undefined) return `${rule}.  No request is specified`;
    return isLess(max, request) ? `${rule}, but request is ${request}` : undefined;
  };
  return [
    ...each(limit.min, (name, min) => minFault(limit.type, name, min, requests, {})),
    ...each(limit.max, maxRequest),
  ];
}

function isLess(a: string, b: string): boolean {
  return compareQuantities(quantityOf(a), quantityOf(b)) < 0;
}
