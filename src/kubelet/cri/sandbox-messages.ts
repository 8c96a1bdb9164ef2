/** CRI v1: pod sandboxes. */
import { message, type ReadOf, type WriteOf } from "#lib/protobuf/message.ts";
import {
  int64Value,
  linuxContainerResources,
  namespaceOption,
  securityProfile,
  selinuxOption,
} from "./common-messages.ts";

const dnsConfig = message({
  servers: [1, { list: "text" }],
  searches: [2, { list: "text" }],
  options: [3, { list: "text" }],
});
export type DnsConfig = WriteOf<typeof dnsConfig>;

export const PROTOCOL = { TCP: 0, UDP: 1, SCTP: 2 } as const;
const portMapping = message({
  protocol: [1, "int"],
  containerPort: [2, "int"],
  hostPort: [3, "int"],
  hostIp: [4, "text"],
});
export type PortMapping = WriteOf<typeof portMapping>;

const linuxSandboxSecurityContext = message({
  namespaceOptions: [1, { one: namespaceOption }],
  selinuxOptions: [2, { one: selinuxOption }],
  runAsUser: [3, { one: int64Value }],
  readonlyRootfs: [4, "bool"],
  supplementalGroups: [5, { list: "int" }],
  privileged: [6, "bool"],
  seccompProfilePath: [7, "text"],
  runAsGroup: [8, { one: int64Value }],
  seccomp: [9, { one: securityProfile }],
  apparmor: [10, { one: securityProfile }],
  supplementalGroupsPolicy: [11, "int"],
});

const linuxPodSandboxConfig = message({
  cgroupParent: [1, "text"],
  securityContext: [2, { one: linuxSandboxSecurityContext }],
  sysctls: [3, { map: "text" }],
  overhead: [4, { one: linuxContainerResources }],
  resources: [5, { one: linuxContainerResources }],
});

export const podSandboxMetadata = message({
  name: [1, "text"],
  uid: [2, "text"],
  namespace: [3, "text"],
  attempt: [4, "int"],
});

export const podSandboxConfig = message({
  metadata: [1, { one: podSandboxMetadata }],
  hostname: [2, "text"],
  logDirectory: [3, "text"],
  dnsConfig: [4, { one: dnsConfig }],
  portMappings: [5, { many: portMapping }],
  labels: [6, { map: "text" }],
  annotations: [7, { map: "text" }],
  linux: [8, { one: linuxPodSandboxConfig }],
});
export type PodSandboxConfig = WriteOf<typeof podSandboxConfig>;

export const SANDBOX_STATE = { READY: 0, NOTREADY: 1 } as const;

const podIp = message({ ip: [1, "text"] });
const networkStatus = message({ ip: [1, "text"], additionalIps: [2, { many: podIp }] });
const namespaces = message({ options: [2, { one: namespaceOption }] });
const linuxStatus = message({ namespaces: [1, { one: namespaces }] });

export const podSandboxStatus = message({
  id: [1, "text"],
  metadata: [2, { one: podSandboxMetadata }],
  state: [3, "int"],
  createdAt: [4, "int64"],
  network: [5, { one: networkStatus }],
  linux: [6, { one: linuxStatus }],
  labels: [7, { map: "text" }],
  annotations: [8, { map: "text" }],
  runtimeHandler: [9, "text"],
});
export type PodSandboxStatus = ReadOf<typeof podSandboxStatus>;

const stateValue = message({ state: [1, "int"] });
export const podSandboxFilter = message({
  id: [1, "text"],
  state: [2, { one: stateValue }],
  labelSelector: [3, { map: "text" }],
});

export const podSandbox = message({
  id: [1, "text"],
  metadata: [2, { one: podSandboxMetadata }],
  state: [3, "int"],
  createdAt: [4, "int64"],
  labels: [5, { map: "text" }],
  annotations: [6, { map: "text" }],
  runtimeHandler: [7, "text"],
});
export type PodSandbox = ReadOf<typeof podSandbox>;
