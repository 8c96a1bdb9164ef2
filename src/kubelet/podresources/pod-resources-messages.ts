/** Pod resources API: v1, and v1alpha1, which knows devices only. */
import { message, type WriteOf } from "#lib/protobuf/message.ts";

const numaNode = message({ id: [1, "int"] });
const topology = message({ nodes: [1, { many: numaNode }] });

const containerMemory = message({
  memoryType: [1, "text"],
  size: [2, "int"],
  topology: [3, { one: topology }],
});
export type ContainerMemory = WriteOf<typeof containerMemory>;

const containerDevices = message({
  resourceName: [1, "text"],
  deviceIds: [2, { list: "text" }],
  topology: [3, { one: topology }],
});
export type ContainerDevices = WriteOf<typeof containerDevices>;

const claimResource = message({
  cdiDevices: [1, { many: message({ name: [1, "text"] }) }],
  driverName: [2, "text"],
  poolName: [3, "text"],
  deviceName: [4, "text"],
});
const dynamicResource = message({
  claimName: [2, "text"],
  claimNamespace: [3, "text"],
  claimResources: [4, { many: claimResource }],
});
export type DynamicResource = WriteOf<typeof dynamicResource>;

const containerResources = message({
  name: [1, "text"],
  devices: [2, { many: containerDevices }],
  cpuIds: [3, { list: "int" }],
  memory: [4, { many: containerMemory }],
  dynamicResources: [5, { many: dynamicResource }],
});
export type ContainerResources = WriteOf<typeof containerResources>;

const podResources = message({
  name: [1, "text"],
  namespace: [2, "text"],
  containers: [3, { many: containerResources }],
});
export type PodResources = WriteOf<typeof podResources>;

const empty = message({});
const listResponse = message({ podResources: [1, { many: podResources }] });
const getRequest = message({ podName: [1, "text"], podNamespace: [2, "text"] });
export type GetPodResourcesRequest = Required<WriteOf<typeof getRequest>>;

const SERVICE = "/v1.PodResourcesLister";

export const podResourcesMethods = {
  list: { path: `${SERVICE}/List`, request: empty, response: listResponse },
  getAllocatableResources: {
    path: `${SERVICE}/GetAllocatableResources`,
    request: empty,
    response: message({
      devices: [1, { many: containerDevices }],
      cpuIds: [2, { list: "int" }],
      memory: [3, { many: containerMemory }],
    }),
  },
  get: {
    path: `${SERVICE}/Get`,
    request: getRequest,
    response: message({ podResources: [1, { one: podResources }] }),
  },
  alphaList: {
    path: "/v1alpha1.PodResourcesLister/List",
    request: empty,
    response: listResponse,
  },
} as const;
