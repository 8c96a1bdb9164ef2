/** CRI v1: containers. */
import { message, type ReadOf, type WriteOf } from "#lib/protobuf/message.ts";
import {
  imageSpec,
  int64Value,
  linuxContainerResources,
  mount,
  namespaceOption,
  securityProfile,
  selinuxOption,
} from "./common-messages.ts";

const keyValue = message({ key: [1, "text"], value: [2, "bytes"] });

const capability = message({
  addCapabilities: [1, { list: "text" }],
  dropCapabilities: [2, { list: "text" }],
  addAmbientCapabilities: [3, { list: "text" }],
});

const linuxContainerSecurityContext = message({
  capabilities: [1, { one: capability }],
  privileged: [2, "bool"],
  namespaceOptions: [3, { one: namespaceOption }],
  selinuxOptions: [4, { one: selinuxOption }],
  runAsUser: [5, { one: int64Value }],
  runAsUsername: [6, "text"],
  readonlyRootfs: [7, "bool"],
  supplementalGroups: [8, { list: "int" }],
  apparmorProfile: [9, "text"],
  seccompProfilePath: [10, "text"],
  noNewPrivs: [11, "bool"],
  runAsGroup: [12, { one: int64Value }],
  maskedPaths: [13, { list: "text" }],
  readonlyPaths: [14, { list: "text" }],
  seccomp: [15, { one: securityProfile }],
  apparmor: [16, { one: securityProfile }],
  supplementalGroupsPolicy: [17, "int"],
});
export type LinuxContainerSecurityContext = WriteOf<typeof linuxContainerSecurityContext>;

const linuxContainerConfig = message({
  resources: [1, { one: linuxContainerResources }],
  securityContext: [2, { one: linuxContainerSecurityContext }],
});

export const containerMetadata = message({ name: [1, "text"], attempt: [2, "int"] });

const device = message({
  containerPath: [1, "text"],
  hostPath: [2, "text"],
  permissions: [3, "text"],
});
export type Device = WriteOf<typeof device>;

const cdiDevice = message({ name: [1, "text"] });

export const containerConfig = message({
  metadata: [1, { one: containerMetadata }],
  image: [2, { one: imageSpec }],
  command: [3, { list: "text" }],
  args: [4, { list: "text" }],
  workingDir: [5, "text"],
  envs: [6, { many: keyValue }],
  mounts: [7, { many: mount }],
  devices: [8, { many: device }],
  labels: [9, { map: "text" }],
  annotations: [10, { map: "text" }],
  logPath: [11, "text"],
  stdin: [12, "bool"],
  stdinOnce: [13, "bool"],
  tty: [14, "bool"],
  linux: [15, { one: linuxContainerConfig }],
  cdiDevices: [17, { many: cdiDevice }],
  stopSignal: [18, "int"],
});
export type ContainerConfig = WriteOf<typeof containerConfig>;

export const CONTAINER_STATE = { CREATED: 0, RUNNING: 1, EXITED: 2, UNKNOWN: 3 } as const;

const stateValue = message({ state: [1, "int"] });
export const containerFilter = message({
  id: [1, "text"],
  state: [2, { one: stateValue }],
  podSandboxId: [3, "text"],
  labelSelector: [4, { map: "text" }],
});

export const container = message({
  id: [1, "text"],
  podSandboxId: [2, "text"],
  metadata: [3, { one: containerMetadata }],
  image: [4, { one: imageSpec }],
  imageRef: [5, "text"],
  state: [6, "int"],
  createdAt: [7, "int64"],
  labels: [8, { map: "text" }],
  annotations: [9, { map: "text" }],
  imageId: [10, "text"],
});
export type CriContainer = ReadOf<typeof container>;

const containerResources = message({ linux: [1, { one: linuxContainerResources }] });
const linuxContainerUser = message({
  uid: [1, "int"],
  gid: [2, "int"],
  supplementalGroups: [3, { list: "int" }],
});
const containerUser = message({ linux: [1, { one: linuxContainerUser }] });

export const containerStatus = message({
  id: [1, "text"],
  metadata: [2, { one: containerMetadata }],
  state: [3, "int"],
  createdAt: [4, "int64"],
  startedAt: [5, "int64"],
  finishedAt: [6, "int64"],
  exitCode: [7, "int"],
  image: [8, { one: imageSpec }],
  imageRef: [9, "text"],
  reason: [10, "text"],
  message: [11, "text"],
  labels: [12, { map: "text" }],
  annotations: [13, { map: "text" }],
  mounts: [14, { many: mount }],
  logPath: [15, "text"],
  resources: [16, { one: containerResources }],
  imageId: [17, "text"],
  user: [18, { one: containerUser }],
  stopSignal: [19, "int"],
});
export type CriContainerStatus = ReadOf<typeof containerStatus>;
