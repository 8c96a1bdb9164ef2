/** The pods behind a service: which they are, at which ports they serve, and which changes matter. */

import type { Container, Pod, Service, ServicePort } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { matchesLabels, selectorFromLabels } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { formatIp, isIpv6, parseIp } from "#api/validation/ip.ts";
import { type Caches, type Change, type Key, ownKey } from "#runtime/controller.ts";
import { isFinished, isReady } from "../shared/pods.ts";

export const TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time";
export const HEADLESS = "service.kubernetes.io/headless";

/** Services of other sorts get their endpoints from elsewhere. */
export function hasEndpoints({ spec }: Service): boolean {
  return spec.type !== "ExternalName" && spec.selector !== undefined;
}

export function isHeadless({ spec }: Service): boolean {
  return (spec.clusterIP ?? "") === "" || spec.clusterIP === "None";
}

export function podsOf(caches: Caches, { metadata, spec }: Service): readonly Pod[] {
  const selector = selectorFromLabels(spec.selector ?? {});
  return [...caches(podKind).list(metadata.namespace)].filter(({ metadata: { labels } }) =>
    matchesLabels(selector, labels),
  );
}

/** The services that select a pod by what it was or is, if what endpoints show of it has changed. */
export function keysOfPodChange({ old, next }: Change<Pod>, caches: Caches): readonly Key[] {
  if (old !== undefined && next !== undefined && semanticEqual(shownOf(old), shownOf(next))) {
    return [];
  }
  const pods = [old, next].filter((pod) => pod !== undefined);
  return pods.flatMap((pod) => keysOfPod(pod, caches));
}

export function keysOfPod({ metadata }: Pod, caches: Caches): readonly Key[] {
  return [...caches(serviceKind).list(metadata.namespace)]
    .filter(hasEndpoints)
    .filter(({ spec }) => matchesLabels(selectorFromLabels(spec.selector ?? {}), metadata.labels))
    .flatMap(ownKey);
}

function shownOf(pod: Pod): unknown {
  const { metadata, spec, status } = pod;
  return [
    metadata.labels ?? {},
    metadata.deletionTimestamp ?? "",
    spec.hostname ?? "",
    spec.subdomain ?? "",
    spec.nodeName ?? "",
    status.podIPs ?? [],
    isFinished(pod),
    isReady(pod),
  ];
}

/** Whether the pod has an address and is still alive. */
export function canServe(pod: Pod): boolean {
  const { podIP, podIPs } = pod.status;
  return !isFinished(pod) && ((podIP ?? "") !== "" || (podIPs ?? []).length > 0);
}

/** The pod's addresses of one family, in canonical form. */
export function addressesOf({ status }: Pod, family: "IPv4" | "IPv6"): readonly string[] {
  return (status.podIPs ?? []).flatMap(({ ip }) => {
    const parsed = parseIp(ip);
    return parsed !== undefined && familyOf(ip) === family ? [formatIp(parsed)] : [];
  });
}

export function familyOf(ip: string): "IPv4" | "IPv6" {
  return isIpv6(ip) ? "IPv6" : "IPv4";
}

/** A name is looked up among the ports of the containers that run as long as the pod does. */
export function targetPort({ spec }: Pod, port: ServicePort): number | undefined {
  const target = port.targetPort ?? port.port;
  if (typeof target === "number") return target;
  const sidecars = (spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  return [...(spec.containers ?? []), ...sidecars]
    .flatMap(({ ports }: Container) => ports ?? [])
    .find(({ name, protocol }) => name === target && protocol === port.protocol)?.containerPort;
}

/** A pod of a headless service is known by its host name if it asks for that. */
export function hostnameOf({ spec }: Pod, { metadata }: Service): string | undefined {
  const isWanted = (spec.hostname ?? "") !== "" && spec.subdomain === metadata.name;
  return isWanted ? spec.hostname : undefined;
}
