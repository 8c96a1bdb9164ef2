/**
 * The objects through which pods find the DNS server: the Service `kube-system/kube-dns` at the tenth
 * address of the service range, an EndpointSlice that leads to where the server listens, and the account
 * with which it reads names. A `kube-dns` Service with a selector belongs to a DNS server that
 * runs in pods: it is left alone.
 */
import type { Service } from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/generated/rbac.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { endpointSliceKind } from "#api/kinds/discovery/v1/endpoint-slice.ts";
import { clusterRoleBindingKind, roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "#api/kinds/rbac/v1/roles.ts";
import { addressAt, addressRange } from "#api/meta/address-range.ts";
import { isIpv6, parseCidr } from "#api/validation/ip.ts";
import type { Client } from "#client/client.ts";
import { answerOf, ensureObject } from "../component/ensure-object.ts";

const NAMESPACE = "kube-system";
const NAME = "kube-dns";
const ROLE = "system:coredns";
export const DNS_ACCOUNT = "coredns";
const DNS_PORT = 53;
const METRICS_PORT = 9153;
/** The first address of the range has index 0. */
const DNS_INDEX = 9;

/** The user name of the DNS server's service account. */
export const DNS_USER = `system:serviceaccount:${NAMESPACE}:${DNS_ACCOUNT}`;

/** The ConfigMap with the Corefile, as installations of CoreDNS have it. */
export const DNS_CONFIG_MAP = { namespace: NAMESPACE, name: "coredns" };

/** The tenth address of a service range, where every installer puts DNS. */
export function dnsAddress(serviceRange: string): string {
  const cidr = parseCidr(serviceRange);
  return cidr === undefined ? "" : addressAt(addressRange(cidr, serviceRange), DNS_INDEX);
}

/** What the account may do: roles and their bindings. */
export function dnsAccess(): readonly KubeObject[] {
  return [dnsRole(), dnsRoleBinding(), CONFIG_ROLE, CONFIG_BINDING];
}

/** Lets the account read what names are made of. */
export async function ensureDnsAccess(client: Client, signal: AbortSignal): Promise<void> {
  await ensureObject(client, clusterRoleKind, dnsRole(), signal);
  await ensureObject(client, clusterRoleBindingKind, dnsRoleBinding(), signal);
  await ensureObject(client, roleKind, CONFIG_ROLE, signal);
  await ensureObject(client, roleBindingKind, CONFIG_BINDING, signal);
}

export interface KubeDnsPlace {
  readonly clusterIp: string;
  /** Where the server listens. */
  readonly address: string;
  readonly port: number;
}

/** Answers false if the Service belongs to a DNS server that runs in pods. */
export async function ensureKubeDns(
  client: Client,
  { clusterIp, address, port }: KubeDnsPlace,
  signal: AbortSignal,
): Promise<boolean> {
  const service = await ensureObject(client, serviceKind, dnsService(clusterIp), signal);
  if (Object.keys(service.spec.selector ?? {}).length > 0) {
    await removeOwnSlice(client, signal);
    return false;
  }
  const wanted = dnsSlice(address, port);
  const slice = await ensureObject(client, endpointSliceKind, wanted, signal);
  if (slice.addressType !== wanted.addressType) {
    // The type of the addresses cannot be changed.
    answerOf(await client.delete(endpointSliceKind, KEY_OF_SLICE, {}, signal), NAME);
    await ensureObject(client, endpointSliceKind, wanted, signal);
    return true;
  }
  const { endpoints, ports } = wanted;
  answerOf(
    await client.patch(endpointSliceKind, KEY_OF_SLICE, "merge", { endpoints, ports }, {}, signal),
    NAME,
  );
  return true;
}

/** From before the Service had a selector: nothing listens there any more. */
async function removeOwnSlice(client: Client, signal: AbortSignal): Promise<void> {
  const found = await client.get(endpointSliceKind, KEY_OF_SLICE, signal);
  if (!found.ok || found.value.metadata.labels?.[MANAGED_BY] !== MANAGER) return;
  answerOf(await client.delete(endpointSliceKind, KEY_OF_SLICE, {}, signal), NAME);
}

const MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
const MANAGER = "k8ts-dns";
const KEY_OF_SLICE = { namespace: NAMESPACE, name: NAME };

/** Without a selector: its EndpointSlice is made here. */
export function dnsService(clusterIP: string): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace: NAMESPACE,
      name: NAME,
      labels: {
        "k8s-app": NAME,
        "kubernetes.io/cluster-service": "true",
        "kubernetes.io/name": "CoreDNS",
      },
      annotations: { "prometheus.io/port": String(METRICS_PORT), "prometheus.io/scrape": "true" },
    },
    spec: {
      clusterIP,
      ports: [
        { name: "dns", port: DNS_PORT, protocol: "UDP" },
        { name: "dns-tcp", port: DNS_PORT, protocol: "TCP" },
        { name: "metrics", port: METRICS_PORT, protocol: "TCP" },
      ],
    },
    status: { loadBalancer: {} },
  };
}

function dnsSlice(address: string, port: number): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: NAMESPACE,
      name: NAME,
      labels: {
        "kubernetes.io/service-name": NAME,
        [MANAGED_BY]: MANAGER,
      },
    },
    addressType: isIpv6(address) ? "IPv6" : "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [
      { name: "dns", port, protocol: "UDP" },
      { name: "dns-tcp", port, protocol: "TCP" },
    ],
  };
}

function dnsRole(): ClusterRole {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: ROLE },
    rules: [
      {
        apiGroups: [""],
        resources: ["endpoints", "services", "pods", "namespaces"],
        verbs: ["list", "watch"],
      },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
    ],
  };
}

function dnsRoleBinding(): ClusterRoleBinding {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: ROLE },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: ROLE },
    subjects: [{ kind: "ServiceAccount", name: DNS_ACCOUNT, namespace: NAMESPACE }],
  };
}

const CONFIG_ACCESS = "k8ts:coredns-config";

const CONFIG_ROLE: Role = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { namespace: NAMESPACE, name: CONFIG_ACCESS },
  rules: [
    {
      apiGroups: [""],
      resources: ["configmaps"],
      resourceNames: [DNS_CONFIG_MAP.name],
      verbs: ["list", "watch"],
    },
  ],
};

const CONFIG_BINDING: RoleBinding = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { namespace: NAMESPACE, name: CONFIG_ACCESS },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: CONFIG_ACCESS },
  subjects: [{ kind: "ServiceAccount", name: DNS_ACCOUNT, namespace: NAMESPACE }],
};
