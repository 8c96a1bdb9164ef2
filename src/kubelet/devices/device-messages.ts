/** Device plug-in API v1beta1. */
import { message, type ReadOf } from "#lib/protobuf/message.ts";

const empty = message({});
const devicePluginOptions = message({
  preStartRequired: [1, "bool"],
  getPreferredAllocationAvailable: [2, "bool"],
});
const registerRequest = message({
  version: [1, "text"],
  endpoint: [2, "text"],
  resourceName: [3, "text"],
  options: [4, { one: devicePluginOptions }],
});
export type RegisterRequest = ReadOf<typeof registerRequest>;

const numaNode = message({ id: [1, "int"] });
const topologyInfo = message({ nodes: [1, { many: numaNode }] });
const device = message({
  id: [1, "text"],
  health: [2, "text"],
  topology: [3, { one: topologyInfo }],
});
export type PluginDevice = ReadOf<typeof device>;
const listAndWatchResponse = message({ devices: [1, { many: device }] });

const preferredRequest = message({
  availableDeviceIds: [1, { list: "text" }],
  mustIncludeDeviceIds: [2, { list: "text" }],
  allocationSize: [3, "int"],
});
const deviceIds = message({ deviceIds: [1, { list: "text" }] });

const mount = message({ containerPath: [1, "text"], hostPath: [2, "text"], readOnly: [3, "bool"] });
const deviceSpec = message({
  containerPath: [1, "text"],
  hostPath: [2, "text"],
  permissions: [3, "text"],
});
/** What a container gets with its devices. */
export const containerAllocateResponse = message({
  envs: [1, { map: "text" }],
  mounts: [2, { many: mount }],
  devices: [3, { many: deviceSpec }],
  annotations: [4, { map: "text" }],
  cdiDevices: [5, { many: message({ name: [1, "text"] }) }],
});
export type ContainerAllocateResponse = ReadOf<typeof containerAllocateResponse>;

const SERVICE = "/v1beta1.DevicePlugin";

/** The kubelet's own service. */
export const registerMethod = {
  path: "/v1beta1.Registration/Register",
  request: registerRequest,
  response: empty,
} as const;

export const deviceMethods = {
  listAndWatch: { path: `${SERVICE}/ListAndWatch`, request: empty, response: listAndWatchResponse },
  getDevicePluginOptions: {
    path: `${SERVICE}/GetDevicePluginOptions`,
    request: empty,
    response: devicePluginOptions,
  },
  getPreferredAllocation: {
    path: `${SERVICE}/GetPreferredAllocation`,
    request: message({ containerRequests: [1, { many: preferredRequest }] }),
    response: message({ containerResponses: [1, { many: deviceIds }] }),
  },
  allocate: {
    path: `${SERVICE}/Allocate`,
    request: message({ containerRequests: [1, { many: deviceIds }] }),
    response: message({ containerResponses: [1, { many: containerAllocateResponse }] }),
  },
  preStartContainer: {
    path: `${SERVICE}/PreStartContainer`,
    request: deviceIds,
    response: empty,
  },
} as const;

export const DEVICE_API_VERSION = "v1beta1";
export const HEALTHY = "Healthy";
