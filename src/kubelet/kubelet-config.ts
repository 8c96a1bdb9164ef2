/** Everything that a kubelet can be told: the record that flags and KubeletConfiguration end in. */
import type { Taint } from "#api/generated/core.v1.ts";

export interface KubeletConfig {
  readonly nodeName: string;
  /** Found out unless given. */
  readonly nodeIps: readonly string[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly providerId: string;
  readonly registerNode: boolean;
  readonly registerSchedulable: boolean;
  /** `/var/lib/kubelet` */
  readonly rootDir: string;
  /** `/var/log/pods` */
  readonly podLogsDir: string;
  readonly runtimeEndpoint: string;
  readonly imageEndpoint: string;
  /** "/" or the cgroup below which all others are made. */
  readonly cgroupRoot: string;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  /** "" for none. */
  readonly resolvConf: string;
  readonly maxPods: number;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly kubeReserved: Readonly<Record<string, string>>;
  /** By signal: `memory.available` is `100Mi`. */
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionPressureTransitionMs: number;
  readonly staticPodPath: string;
  readonly fileCheckMs: number;
  readonly leaseDurationSeconds: number;
  readonly port: number;
  readonly seccompDefault: boolean;
  /** Where a CNI configuration is written once the node has pod CIDRs; undefined: nowhere. */
  readonly cniConfDir: string | undefined;
}

export const DEFAULT_KUBELET_CONFIG: Omit<KubeletConfig, "nodeName"> = {
  nodeIps: [],
  nodeLabels: {},
  taints: [],
  providerId: "",
  registerNode: true,
  registerSchedulable: true,
  rootDir: "/var/lib/kubelet",
  podLogsDir: "/var/log/pods",
  runtimeEndpoint: "unix:///run/containerd/containerd.sock",
  imageEndpoint: "",
  cgroupRoot: "/",
  clusterDns: [],
  clusterDomain: "cluster.local",
  resolvConf: "/etc/resolv.conf",
  maxPods: 110,
  systemReserved: {},
  kubeReserved: {},
  evictionHard: {
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
  },
  evictionPressureTransitionMs: 300_000,
  staticPodPath: "",
  fileCheckMs: 20_000,
  leaseDurationSeconds: 40,
  port: 10_250,
  seccompDefault: false,
  cniConfDir: undefined,
};
