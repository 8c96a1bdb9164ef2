/**
 * The objects by which machines join a cluster, as kubeadm makes them: the signed description of the
 * cluster, the settings of nodes, and the rights of bootstrap tokens and of nodes.
 */
import type { ConfigMap } from "#api/generated/core.v1.ts";
import type {
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  Subject,
} from "#api/generated/rbac.v1.ts";
import { configMapKind } from "#api/kinds/core/v1/config/config-map.ts";
import { clusterRoleBindingKind, roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "#api/kinds/rbac/v1/roles.ts";
import { KUBERNETES_VERSION } from "#api/meta/kubernetes-version.ts";
import type { Client } from "#client/client.ts";
import type { PodNetworkMode } from "#network/pod-network-mode.ts";
import type { ProxyMode } from "#proxy/proxy-mode.ts";
import { answerOf, ensureObject } from "../component/ensure-object.ts";
import { ensureNetworkPolicyAccess } from "../network-policy/network-policy-access.ts";
import { CERTS_SECRET } from "./control-plane-secret.ts";

export interface JoinFacts {
  /** `https://192.0.2.1:6443` */
  readonly server: string;
  readonly authorityPem: string;
  readonly clusterDns: readonly string[];
  readonly podRanges: readonly string[];
  readonly serviceRanges: readonly string[];
  readonly podNetwork: PodNetworkMode;
  readonly networkPolicy: boolean;
  /** What each machine can do unless given. */
  readonly proxyMode: ProxyMode | undefined;
  /** The VXLAN network that all nodes share. */
  readonly vni: number;
}

/** Network settings for joining machines, published in one ConfigMap. */
export type NodeNetworkSettings = Pick<
  JoinFacts,
  "clusterDns" | "podRanges" | "podNetwork" | "networkPolicy" | "proxyMode" | "vni"
>;

export const NODE_SETTINGS = { namespace: "kube-system", name: "k8ts-node-settings" };
export const DEFAULT_TOKEN_GROUP = "system:bootstrappers:kubeadm:default-node-token";

const RBAC = "rbac.authorization.k8s.io";
const NODES = group("system:nodes");
const TOKENS = group(DEFAULT_TOKEN_GROUP);
const CSRS = "system:certificates.k8s.io:certificatesigningrequests";

/** Rights that an administrator changed stay; settings follow the cluster's. */
export async function ensureJoinObjects(
  client: Client,
  facts: JoinFacts,
  signal: AbortSignal,
): Promise<void> {
  for (const map of configMaps(facts)) {
    const found = await ensureObject(client, configMapKind, map, signal);
    const wanted = map.data ?? {};
    const isSame = Object.entries(wanted).every(([key, value]) => found.data?.[key] === value);
    if (isSame) continue;
    const { namespace, name = "" } = map.metadata;
    const patch = { data: wanted };
    const key = { namespace, name };
    answerOf(await client.patch(configMapKind, key, "merge", patch, {}, signal), name);
  }
  await ensureNetworkPolicyAccess(client, signal);
  await ensureObject(client, clusterRoleKind, GET_NODES, signal);
  for (const binding of CLUSTER_BINDINGS) {
    await ensureObject(client, clusterRoleBindingKind, binding, signal);
  }
  for (const [role, binding] of NAMESPACED) {
    await ensureObject(client, roleKind, role, signal);
    await ensureObject(client, roleBindingKind, binding, signal);
  }
}

function configMaps(facts: JoinFacts): readonly ConfigMap[] {
  const { server, authorityPem, clusterDns, podRanges, serviceRanges } = facts;
  const info = {
    ...{ apiVersion: "v1", kind: "Config" },
    clusters: [
      {
        name: "",
        cluster: {
          "certificate-authority-data": Buffer.from(authorityPem).toString("base64"),
          server,
        },
      },
    ],
    ...{ contexts: null, "current-context": "", preferences: {}, users: null },
  };
  const clusterConfiguration = {
    ...{ apiVersion: "kubeadm.k8s.io/v1beta4", kind: "ClusterConfiguration" },
    ...{ clusterName: "kubernetes", kubernetesVersion: KUBERNETES_VERSION },
    controlPlaneEndpoint: new URL(server).host,
    networking: {
      dnsDomain: "cluster.local",
      podSubnet: podRanges.join(","),
      serviceSubnet: serviceRanges.join(","),
    },
  };
  const kubelet = {
    ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" },
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: "/etc/kubernetes/pki/ca.crt" },
    },
    authorization: { mode: "Webhook" },
    ...{ clusterDNS: clusterDns, clusterDomain: "cluster.local", rotateCertificates: true },
  };
  const { podNetwork, networkPolicy, proxyMode, vni } = facts;
  const settings: NodeNetworkSettings = {
    ...{ clusterDns, podRanges, podNetwork, networkPolicy, proxyMode, vni },
  };
  // JSON is YAML, too.
  const text = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;
  return [
    configMap("kube-public", "cluster-info", { kubeconfig: text(info) }),
    configMap("kube-system", "kubeadm-config", {
      ClusterConfiguration: text(clusterConfiguration),
    }),
    configMap("kube-system", "kubelet-config", { kubelet: text(kubelet) }),
    configMap(NODE_SETTINGS.namespace, NODE_SETTINGS.name, { settings: text(settings) }),
  ];
}

const GET_NODES: ClusterRole = {
  ...{ apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name: "kubeadm:get-nodes" } },
  rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }],
};

const CLUSTER_BINDINGS: readonly ClusterRoleBinding[] = [
  clusterBinding("kubeadm:get-nodes", "kubeadm:get-nodes", TOKENS),
  clusterBinding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", TOKENS),
  clusterBinding("kubeadm:node-autoapprove-bootstrap", `${CSRS}:nodeclient`, TOKENS),
  clusterBinding("kubeadm:node-autoapprove-certificate-rotation", `${CSRS}:selfnodeclient`, NODES),
  // The process of a machine that joined is the service proxy and the network, too.
  clusterBinding("k8ts:node-proxier", "system:node-proxier", NODES),
  clusterBinding("k8ts:node-network-policy", "k8ts:network-policy", NODES),
];

const NAMESPACED: readonly (readonly [Role, RoleBinding])[] = [
  reader("kube-public", "kubeadm:bootstrap-signer-clusterinfo", "cluster-info", [
    { apiGroup: RBAC, kind: "User", name: "system:anonymous" },
  ]),
  reader("kube-system", "kubeadm:kubelet-config", "kubelet-config", [NODES, TOKENS]),
  reader("kube-system", "kubeadm:nodes-kubeadm-config", "kubeadm-config", [NODES, TOKENS]),
  reader("kube-system", "k8ts:node-settings", NODE_SETTINGS.name, [NODES, TOKENS]),
  reader("kube-system", "kubeadm:kubeadm-certs", CERTS_SECRET.name, [TOKENS], "secrets"),
];

function group(name: string): Subject {
  return { apiGroup: RBAC, kind: "Group", name };
}

function clusterBinding(name: string, role: string, subject: Subject): ClusterRoleBinding {
  return {
    ...{ apiVersion: `${RBAC}/v1`, kind: "ClusterRoleBinding", metadata: { name } },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
    subjects: [subject],
  };
}

/** The right to get one ConfigMap or Secret. */
function reader(
  namespace: string,
  name: string,
  object: string,
  subjects: readonly Subject[],
  resource = "configmaps",
): readonly [Role, RoleBinding] {
  const metadata = { namespace, name };
  const rule = { apiGroups: [""], resources: [resource], resourceNames: [object], verbs: ["get"] };
  return [
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: [rule] },
    {
      ...{ apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata },
      roleRef: { apiGroup: RBAC, kind: "Role", name },
      subjects: [...subjects],
    },
  ];
}

function configMap(
  namespace: string,
  name: string,
  data: Readonly<Record<string, string>>,
): ConfigMap {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data };
}
