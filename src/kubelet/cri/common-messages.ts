/** CRI v1 (package runtime.v1): messages that sandboxes, containers and images share. */
import { message, type ReadOf, type WriteOf } from "#lib/protobuf/message.ts";

export const empty = message({});

export const int64Value = message({ value: [1, "int"] });
export const uint64Value = message({ value: [1, "int64"] });

export const imageSpec = message({
  image: [1, "text"],
  annotations: [2, { map: "text" }],
  userSpecifiedImage: [18, "text"],
  runtimeHandler: [19, "text"],
  imageRef: [20, "text"],
});
export type ImageSpec = WriteOf<typeof imageSpec>;

const idMapping = message({
  hostId: [1, "int"],
  containerId: [2, "int"],
  length: [3, "int"],
});

export const NAMESPACE_MODE = { POD: 0, CONTAINER: 1, NODE: 2, TARGET: 3 } as const;

const userNamespace = message({
  mode: [1, "int"],
  uids: [2, { many: idMapping }],
  gids: [3, { many: idMapping }],
});
export type UserNamespace = WriteOf<typeof userNamespace>;

export const namespaceOption = message({
  network: [1, "int"],
  pid: [2, "int"],
  ipc: [3, "int"],
  targetId: [4, "text"],
  usernsOptions: [5, { one: userNamespace }],
});
export type NamespaceOption = WriteOf<typeof namespaceOption>;

export const selinuxOption = message({
  user: [1, "text"],
  role: [2, "text"],
  type: [3, "text"],
  level: [4, "text"],
});

export const PROFILE_TYPE = { RuntimeDefault: 0, Unconfined: 1, Localhost: 2 } as const;
export const securityProfile = message({ profileType: [1, "int"], localhostRef: [2, "text"] });
export type SecurityProfile = WriteOf<typeof securityProfile>;

export const SUPPLEMENTAL_GROUPS_POLICY = { Merge: 0, Strict: 1 } as const;

export const PROPAGATION = { PRIVATE: 0, HOST_TO_CONTAINER: 1, BIDIRECTIONAL: 2 } as const;
export const mount = message({
  containerPath: [1, "text"],
  hostPath: [2, "text"],
  readonly: [3, "bool"],
  selinuxRelabel: [4, "bool"],
  propagation: [5, "int"],
  uidMappings: [6, { many: idMapping }],
  gidMappings: [7, { many: idMapping }],
  recursiveReadOnly: [8, "bool"],
  image: [9, { one: imageSpec }],
  imageSubPath: [10, "text"],
});
export type Mount = WriteOf<typeof mount>;

const hugepageLimit = message({ pageSize: [1, "text"], limit: [2, "int"] });

export const linuxContainerResources = message({
  cpuPeriod: [1, "int"],
  cpuQuota: [2, "int"],
  cpuShares: [3, "int"],
  memoryLimitInBytes: [4, "int"],
  oomScoreAdj: [5, "int"],
  cpusetCpus: [6, "text"],
  cpusetMems: [7, "text"],
  hugepageLimits: [8, { many: hugepageLimit }],
  unified: [9, { map: "text" }],
  memorySwapLimitInBytes: [10, "int"],
});
export type LinuxContainerResources = WriteOf<typeof linuxContainerResources>;
export type LinuxContainerResourcesRead = ReadOf<typeof linuxContainerResources>;
