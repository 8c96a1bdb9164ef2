/**
 * Decides what the NetworkPolicies of a cluster mean on one node: a pure function of the policies, the
 * pods and the namespaces. Pods of the host network have no address of their own: policies neither
 * select them nor find them as peers. Pods that have finished may have lost their address to others.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type {
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from "#api/generated/networking.v1.ts";
import { IP_FAMILIES, networksOf, outermost } from "#api/meta/ip-family.ts";
import {
  formatSelector,
  type Labels,
  matchesLabels,
  type Selector,
  selectorOf,
} from "#api/meta/label-selector.ts";
import { groupPods, type PodIndex } from "./pod-index.ts";
import type {
  AllowRule,
  Isolation,
  PeerMatch,
  PodPort,
  PolicyRuleSet,
  PolicyRules,
  PortMatch,
  Protocol,
} from "./policy-rules.ts";

export interface PolicyWorld {
  readonly policies: Iterable<NetworkPolicy>;
  readonly pods: Iterable<Pod>;
  /** Labels of each namespace by its name. */
  readonly namespaces: ReadonlyMap<string, Labels>;
  readonly nodeName: string;
}

export function decidePolicyRules(world: PolicyWorld): PolicyRuleSet {
  const pods = groupPods(world.pods);
  const needs: Needs = { peers: new Map(), namedPorts: new Map() };
  const isolated = new Map<string, Isolation>();
  const policies = new Map<string, PolicyRules>();
  for (const policy of inOrder(world.policies)) {
    const namespace = policy.metadata.namespace ?? "";
    const selector = readSelector(policy.spec.podSelector ?? {});
    const local = (pods.byNamespace.get(namespace) ?? []).filter(
      ({ nodeName, labels }) => nodeName === world.nodeName && matchesLabels(selector, labels),
    );
    if (local.length === 0) continue;
    const id = `${namespace}/${policy.metadata.name}`;
    const { ingress, egress } = directionsOf(policy);
    policies.set(id, {
      ingress: ingress ? allowRules(policy, "ingress", needs) : [],
      egress: egress ? allowRules(policy, "egress", needs) : [],
    });
    for (const ip of local.flatMap(({ ips }) => ips)) {
      const known = isolated.get(ip) ?? NOT_ISOLATED;
      isolated.set(ip, {
        ingress: ingress ? [...(known.ingress ?? []), id] : known.ingress,
        egress: egress ? [...(known.egress ?? []), id] : known.egress,
      });
    }
  }
  return {
    isolated,
    policies,
    peers: mapValues(needs.peers, (peer) => selectAddresses(peer, pods, world.namespaces)),
    namedPorts: mapValues(needs.namedPorts, (port) => findNamedPort(port, pods)),
  };
}

const NOT_ISOLATED: Isolation = { ingress: undefined, egress: undefined };

/** The peers and named ports that rules refer to; each is looked up once. */
interface Needs {
  readonly peers: Map<string, PodPeer>;
  readonly namedPorts: Map<string, NamedPort>;
}

interface PodPeer {
  readonly namespaces: { readonly name: string } | { readonly selector: Selector };
  readonly pods: Selector;
}

interface NamedPort {
  readonly name: string;
  readonly protocol: Protocol;
}

/** The API server sets policyTypes; without it a policy is for ingress, and for egress if it has rules. */
function directionsOf({ spec }: NetworkPolicy): { ingress: boolean; egress: boolean } {
  const { policyTypes = [], egress = [] } = spec;
  if (policyTypes.length === 0) return { ingress: true, egress: egress.length > 0 };
  return { ingress: policyTypes.includes("Ingress"), egress: policyTypes.includes("Egress") };
}

function allowRules(
  { metadata, spec }: NetworkPolicy,
  direction: "ingress" | "egress",
  needs: Needs,
): readonly AllowRule[] {
  const rules =
    direction === "ingress"
      ? (spec.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
      : (spec.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }));
  return rules.map(({ peers = [], ports = [] }) => ({
    peers:
      peers.length === 0
        ? "all"
        : peers.flatMap((peer) => peerMatch(peer, metadata.namespace ?? "", needs)),
    ports: ports.length === 0 ? "all" : ports.flatMap((port) => portMatch(port, needs)),
  }));
}

function peerMatch(
  { ipBlock, namespaceSelector, podSelector }: NetworkPolicyPeer,
  namespace: string,
  needs: Needs,
): readonly PeerMatch[] {
  if (ipBlock !== undefined) {
    return IP_FAMILIES.flatMap((family) =>
      networksOf(family, [ipBlock.cidr]).map((cidr) => ({
        type: "block" as const,
        cidr,
        except: outermost(networksOf(family, ipBlock.except ?? [])),
      })),
    );
  }
  const namespaces =
    namespaceSelector === undefined
      ? { name: namespace }
      : { selector: readSelector(namespaceSelector) };
  const pods = readSelector(podSelector ?? {});
  const place =
    "name" in namespaces ? `in ${namespaces.name}` : `of {${selectorKey(namespaces.selector)}}`;
  const key = `pods {${selectorKey(pods)}} ${place}`;
  needs.peers.set(key, { namespaces, pods });
  return [{ type: "pods", key }];
}

function portMatch(
  { protocol: given = "TCP", port, endPort }: NetworkPolicyPort,
  needs: Needs,
): readonly PortMatch[] {
  const protocol = PROTOCOLS.get(given);
  if (protocol === undefined) return [];
  if (port === undefined) return [{ type: "any", protocol }];
  if (typeof port === "number") {
    return [{ type: "range", protocol, from: port, to: Math.max(endPort ?? port, port) }];
  }
  const key = `${protocol} ${port}`;
  needs.namedPorts.set(key, { name: port, protocol });
  return [{ type: "named", protocol, key }];
}

const PROTOCOLS: ReadonlyMap<string, Protocol> = new Map([
  ["TCP", "tcp"],
  ["UDP", "udp"],
  ["SCTP", "sctp"],
]);

function selectAddresses(
  { namespaces, pods }: PodPeer,
  index: PodIndex,
  labelsOf: ReadonlyMap<string, Labels>,
): readonly string[] {
  const names =
    "name" in namespaces
      ? [namespaces.name]
      : [...index.byNamespace.keys()].filter((name) => {
          const labels = labelsOf.get(name);
          return labels !== undefined && matchesLabels(namespaces.selector, labels);
        });
  return names.flatMap((name) =>
    (index.byNamespace.get(name) ?? [])
      .filter(({ labels }) => matchesLabels(pods, labels))
      .flatMap(({ ips }) => ips),
  );
}

function findNamedPort({ name, protocol }: NamedPort, index: PodIndex): readonly PodPort[] {
  return [...index.byNamespace.values()].flat().flatMap(({ ips, ports }) => {
    const port = ports.find((one) => one.name === name && one.protocol === protocol)?.port;
    return port === undefined ? [] : ips.map((ip) => ({ ip, port }));
  });
}

/** A selector that cannot be read selects nothing. */
function readSelector(selector: LabelSelector): Selector {
  const parsed = selectorOf(selector);
  return parsed.ok ? parsed.value : "nothing";
}

function selectorKey(selector: Selector): string {
  return selector === "nothing" ? "nothing" : formatSelector(selector);
}

function inOrder(policies: Iterable<NetworkPolicy>): NetworkPolicy[] {
  const nameOf = ({ metadata }: NetworkPolicy): string => `${metadata.namespace}/${metadata.name}`;
  return [...policies].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

function mapValues<V, W>(map: ReadonlyMap<string, V>, call: (value: V) => W): Map<string, W> {
  return new Map([...map].map(([key, value]) => [key, call(value)]));
}
