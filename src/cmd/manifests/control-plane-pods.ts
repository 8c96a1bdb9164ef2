/**
 * The control plane as static pods, in kubeadm's form: etcd, kube-apiserver, kube-controller-manager and
 * kube-scheduler in the network of the machine, each with probes, on an image made of k8ts itself. Keys,
 * kubeconfigs and etcd's data stay in the data directory of the machine, which the pods see at its own path.
 */
import { join } from "node:path";
import type { Container, Pod, Probe } from "#api/generated/core.v1.ts";
import { etcdArguments, urlOf } from "#etcd/etcd-arguments.ts";
import { etcdClientFiles } from "#etcd/etcd-certificates.ts";
import { memberDataDir } from "#etcd/member-record.ts";

/** The kubelet makes the status. */
export type StaticPod = Omit<Pod, "status">;

export interface ControlPlanePlan {
  readonly image: string;
  readonly dataDir: string;
  readonly nodeName: string;
  readonly address: string;
  readonly port: number;
  readonly serviceRange: string;
  readonly podRange: string;
  /** Empty: etcd is one of the pods. */
  readonly etcdServers: readonly string[];
}

/** Where the image has its programs. */
export const NODE_IN_IMAGE = "/usr/bin/node";
export const ETCD_IN_IMAGE = "/usr/bin/etcd";
export const PROGRAM_IN_IMAGE = "/k8ts/k8ts.js";

const ETCD_CLIENT_PORT = 2379;
const ETCD_PEER_PORT = 2380;
/** Without TLS, on loopback, for probes. */
const ETCD_METRICS_PORT = 2381;
const MANAGER_PORT = 10_257;
const SCHEDULER_PORT = 10_259;

/** By the names of their files. */
export function controlPlanePods(plan: ControlPlanePlan): ReadonlyMap<string, StaticPod> {
  const pods = [apiServer(plan), controllerManager(plan), scheduler(plan)];
  const all = plan.etcdServers.length > 0 ? pods : [etcd(plan), ...pods];
  return new Map(all.map((pod) => [`${pod.metadata.name}.yaml`, pod]));
}

function etcd({ nodeName: name, dataDir, address, image }: ControlPlanePlan): StaticPod {
  const peerUrl = urlOf(address, ETCD_PEER_PORT);
  const args = etcdArguments({
    ...{ name, dataDir: memberDataDir(dataDir), pki: join(dataDir, "pki"), address },
    ...{ clientPort: ETCD_CLIENT_PORT, peerPort: ETCD_PEER_PORT },
    ...{ initialCluster: [{ name, peerUrl }], initialState: "new" },
    extra: [`listen-metrics-urls=http://127.0.0.1:${ETCD_METRICS_PORT}`],
  });
  const command = [ETCD_IN_IMAGE, ...args];
  const probe = httpProbe("/health", ETCD_METRICS_PORT, "HTTP");
  return pod("etcd", dataDir, {
    ...{ image, command, livenessProbe: probe, startupProbe: starting(probe) },
    resources: { requests: { cpu: "100m", memory: "100Mi" } },
  });
}

function apiServer(plan: ControlPlanePlan): StaticPod {
  const { dataDir, image, address, port, serviceRange } = plan;
  const { ca, cert, key } = etcdClientFiles(join(dataDir, "pki"));
  const managed = plan.etcdServers.length === 0;
  const servers = managed ? [urlOf("127.0.0.1", ETCD_CLIENT_PORT)] : plan.etcdServers;
  const tls = [`--etcd-cafile=${ca}`, `--etcd-certfile=${cert}`, `--etcd-keyfile=${key}`];
  const command = program("apiserver", [
    ...[`--data-dir=${dataDir}`, `--etcd-servers=${servers.join(",")}`, ...(managed ? tls : [])],
    ...[`--secure-port=${port}`, "--bind-address=0.0.0.0", `--advertise-address=${address}`],
    ...[`--service-cluster-ip-range=${serviceRange}`, "--allow-privileged=true"],
    "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname",
  ]);
  const live = httpProbe("/livez", port, "HTTPS");
  return pod("kube-apiserver", dataDir, {
    ...{ image, command, livenessProbe: live, startupProbe: starting(live) },
    readinessProbe: { ...httpProbe("/readyz", port, "HTTPS"), periodSeconds: 1 },
    resources: { requests: { cpu: "250m" } },
  });
}

function controllerManager({
  dataDir,
  image,
  serviceRange,
  podRange,
}: ControlPlanePlan): StaticPod {
  const pki = (name: string): string => join(dataDir, "pki", name);
  const command = program("controller-manager", [
    ...[`--kubeconfig=${join(dataDir, "controller-manager.kubeconfig")}`, "--leader-elect=true"],
    ...["--bind-address=127.0.0.1", "--use-service-account-credentials=true"],
    ...[`--service-account-private-key-file=${pki("sa.key")}`, `--root-ca-file=${pki("ca.crt")}`],
    `--cluster-signing-cert-file=${pki("ca.crt")}`,
    `--cluster-signing-key-file=${pki("ca.key")}`,
    ...["--allocate-node-cidrs=true", `--cluster-cidr=${podRange}`],
    `--service-cluster-ip-range=${serviceRange}`,
  ]);
  const live = httpProbe("/healthz", MANAGER_PORT, "HTTPS");
  return pod("kube-controller-manager", dataDir, {
    ...{ image, command, livenessProbe: live, startupProbe: starting(live) },
    resources: { requests: { cpu: "200m" } },
  });
}

function scheduler({ dataDir, image }: ControlPlanePlan): StaticPod {
  const command = program("scheduler", [
    ...[`--kubeconfig=${join(dataDir, "scheduler.kubeconfig")}`, "--leader-elect=true"],
    "--bind-address=127.0.0.1",
  ]);
  const live = httpProbe("/healthz", SCHEDULER_PORT, "HTTPS");
  return pod("kube-scheduler", dataDir, {
    ...{ image, command, livenessProbe: live, startupProbe: starting(live) },
    resources: { requests: { cpu: "100m" } },
  });
}

function program(component: string, flags: readonly string[]): string[] {
  return [NODE_IN_IMAGE, PROGRAM_IN_IMAGE, component, ...flags];
}

function httpProbe(path: string, port: number, scheme: "HTTP" | "HTTPS"): Probe {
  const httpGet = { host: "127.0.0.1", path, port, scheme };
  return { httpGet, periodSeconds: 10, timeoutSeconds: 15, failureThreshold: 8 };
}

/** A busy machine may take minutes to start it. */
function starting(probe: Probe): Probe {
  return { ...probe, periodSeconds: 1, failureThreshold: 240 };
}

function pod(name: string, dataDir: string, container: Omit<Container, "name">): StaticPod {
  const component = name;
  return {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      ...{ name, namespace: "kube-system" },
      labels: { component, tier: "control-plane" },
    },
    spec: {
      ...{ hostNetwork: true, priorityClassName: "system-node-critical", priority: 2_000_001_000 },
      securityContext: { seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          name,
          imagePullPolicy: "IfNotPresent",
          ...container,
          volumeMounts: [{ name: "data", mountPath: dataDir }],
        },
      ],
      volumes: [{ name: "data", hostPath: { path: dataDir, type: "Directory" } }],
    },
  };
}
