/**
 * The DNS server as a Deployment on an image made of k8ts itself, in the form in which installers run
 * CoreDNS: the account and its rights, the ConfigMap with the Corefile, the Deployment `coredns`, and the
 * Service `kube-dns` with a selector. `k8ts up` leaves such a Service alone.
 */
import type { ConfigMap, Container, ServiceAccount } from "#api/generated/core.v1.ts";
import { DNS_ACCOUNT, DNS_CONFIG_MAP, dnsAccess, dnsService } from "./kube-dns.ts";

export interface DnsManifestPlan {
  readonly image: string;
  readonly clusterIp: string;
  readonly clusterDomain: string;
  readonly replicas: number;
}

const NAMESPACE = "kube-system";
const LABELS = { "k8s-app": "kube-dns" };
const PORTS = { dns: 53, metrics: 9153, health: 8080, ready: 8181 };

/** In the order in which they are to be made. */
export function dnsManifest(plan: DnsManifestPlan): readonly object[] {
  return [account(), ...dnsAccess(), corefile(plan), deployment(plan), service(plan)];
}

function account(): ServiceAccount {
  return {
    ...{ apiVersion: "v1", kind: "ServiceAccount" },
    metadata: { namespace: NAMESPACE, name: DNS_ACCOUNT },
  };
}

function corefile({ clusterDomain }: DnsManifestPlan): ConfigMap {
  const text = `.:53 {
    errors
    health
    ready
    kubernetes ${clusterDomain} in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
`;
  const data = { Corefile: text };
  return { apiVersion: "v1", kind: "ConfigMap", metadata: DNS_CONFIG_MAP, data };
}

function service({ clusterIp }: DnsManifestPlan): object {
  const { spec, status: _, ...rest } = dnsService(clusterIp);
  const ports = (spec.ports ?? []).map((port) => ({ ...port, targetPort: port.port }));
  return { ...rest, spec: { ...spec, selector: LABELS, ports } };
}

function deployment({ image, replicas, clusterDomain }: DnsManifestPlan): object {
  const spec = {
    ...{ replicas, selector: { matchLabels: LABELS } },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
    template: {
      metadata: { labels: LABELS },
      spec: {
        ...{ serviceAccountName: DNS_ACCOUNT, priorityClassName: "system-cluster-critical" },
        dnsPolicy: "Default", // names outside the cluster are asked of the node's name servers
        tolerations: [{ key: "CriticalAddonsOnly", operator: "Exists" }],
        affinity: { podAntiAffinity: apart() },
        containers: [container(image, clusterDomain)],
      },
    },
  };
  const metadata = { namespace: NAMESPACE, name: "coredns", labels: LABELS };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, spec };
}

function apart(): object {
  const podAffinityTerm = {
    ...{ topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: LABELS } },
  };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] };
}

function container(image: string, clusterDomain: string): Container {
  return {
    ...{ name: "coredns", image, imagePullPolicy: "IfNotPresent" },
    args: [
      ...["dns", "--cluster-domain", clusterDomain],
      ...["--config-map", `${DNS_CONFIG_MAP.namespace}/${DNS_CONFIG_MAP.name}`],
      ...["--port", String(PORTS.dns), "--metrics-port", String(PORTS.metrics)],
      ...["--health-port", String(PORTS.health), "--ready-port", String(PORTS.ready)],
    ],
    ports: [
      { name: "dns", containerPort: PORTS.dns, protocol: "UDP" },
      { name: "dns-tcp", containerPort: PORTS.dns, protocol: "TCP" },
      { name: "metrics", containerPort: PORTS.metrics, protocol: "TCP" },
    ],
    resources: { requests: { cpu: "100m", memory: "70Mi" }, limits: { memory: "256Mi" } },
    livenessProbe: {
      httpGet: { path: "/health", port: PORTS.health },
      ...{ initialDelaySeconds: 60, timeoutSeconds: 5, failureThreshold: 5 },
    },
    readinessProbe: { httpGet: { path: "/ready", port: PORTS.ready }, periodSeconds: 2 },
    securityContext: {
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      capabilities: { add: ["NET_BIND_SERVICE"], drop: ["ALL"] },
    },
  };
}
