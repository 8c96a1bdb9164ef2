/** The pods of a cluster as NetworkPolicies see them, by namespace. */
import type { Pod } from "#api/generated/core.v1.ts";
import { addressesOf, IP_FAMILIES } from "#api/meta/ip-family.ts";
import type { Labels } from "#api/meta/label-selector.ts";

export interface PodIndex {
  readonly byNamespace: ReadonlyMap<string, readonly PolicyPod[]>;
}

export interface PolicyPod {
  readonly nodeName: string | undefined;
  readonly labels: Labels;
  readonly ips: readonly string[];
  readonly ports: readonly {
    readonly name: string;
    readonly protocol: string;
    readonly port: number;
  }[];
}

const FINISHED: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed"]);

export function groupPods(pods: Iterable<Pod>): PodIndex {
  const byNamespace = new Map<string, PolicyPod[]>();
  for (const pod of pods) {
    const found = policyPodOf(pod);
    if (found === undefined) continue;
    const namespace = pod.metadata.namespace ?? "";
    const list = byNamespace.get(namespace);
    if (list === undefined) byNamespace.set(namespace, [found]);
    else list.push(found);
  }
  return { byNamespace };
}

/** Undefined for pods without an address of their own. */
export function policyPodOf({ metadata, spec, status }: Pod): PolicyPod | undefined {
  if (spec.hostNetwork === true || FINISHED.has(status?.phase)) return undefined;
  const given = (status?.podIPs ?? []).map(({ ip }) => ip);
  if (given.length === 0 && status?.podIP !== undefined) given.push(status.podIP);
  const ips = IP_FAMILIES.flatMap((family) => addressesOf(family, given));
  if (ips.length === 0) return undefined;
  const sidecars = (spec.initContainers ?? []).filter((c) => c.restartPolicy === "Always");
  const ports = [...(spec.containers ?? []), ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol = "TCP", containerPort }) =>
      name === undefined ? [] : [{ name, protocol: protocol.toLowerCase(), port: containerPort }],
    ),
  );
  return { nodeName: spec.nodeName, labels: metadata.labels ?? {}, ips, ports };
}
