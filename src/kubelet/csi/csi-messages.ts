/** CSI v1: the calls of the node service that the kubelet makes. */
import { message, type WriteOf } from "#lib/protobuf/message.ts";

const empty = message({});

const mountVolume = message({
  fsType: [1, "text"],
  mountFlags: [2, { list: "text" }],
  volumeMountGroup: [3, "text"],
});
const accessMode = message({ mode: [1, "int"] });
const volumeCapability = message({
  block: [1, { one: empty }],
  mount: [2, { one: mountVolume }],
  accessMode: [3, { one: accessMode }],
});
export type VolumeCapability = WriteOf<typeof volumeCapability>;

const nodeStageVolumeRequest = message({
  volumeId: [1, "text"],
  publishContext: [2, { map: "text" }],
  stagingTargetPath: [3, "text"],
  volumeCapability: [4, { one: volumeCapability }],
  secrets: [5, { map: "text" }],
  volumeContext: [6, { map: "text" }],
});
const nodeUnstageVolumeRequest = message({
  volumeId: [1, "text"],
  stagingTargetPath: [2, "text"],
});
const nodePublishVolumeRequest = message({
  volumeId: [1, "text"],
  publishContext: [2, { map: "text" }],
  stagingTargetPath: [3, "text"],
  targetPath: [4, "text"],
  volumeCapability: [5, { one: volumeCapability }],
  readonly: [6, "bool"],
  secrets: [7, { map: "text" }],
  volumeContext: [8, { map: "text" }],
});
const nodeUnpublishVolumeRequest = message({ volumeId: [1, "text"], targetPath: [2, "text"] });

const serviceCapability = message({ rpc: [1, { one: message({ type: [1, "int"] }) }] });
const nodeGetCapabilitiesResponse = message({ capabilities: [1, { many: serviceCapability }] });
const topology = message({ segments: [1, { map: "text" }] });
const nodeGetInfoResponse = message({
  nodeId: [1, "text"],
  maxVolumesPerNode: [2, "int"],
  accessibleTopology: [3, { one: topology }],
});
const capacityRange = message({ requiredBytes: [1, "int"], limitBytes: [2, "int"] });
const nodeExpandVolumeRequest = message({
  volumeId: [1, "text"],
  volumePath: [2, "text"],
  capacityRange: [3, { one: capacityRange }],
  stagingTargetPath: [4, "text"],
  volumeCapability: [5, { one: volumeCapability }],
  secrets: [6, { map: "text" }],
});
const nodeExpandVolumeResponse = message({ capacityBytes: [1, "int"] });

const nodeGetVolumeStatsRequest = message({
  volumeId: [1, "text"],
  volumePath: [2, "text"],
  stagingTargetPath: [3, "text"],
});
const volumeUsage = message({
  available: [1, "int"],
  total: [2, "int"],
  used: [3, "int"],
  unit: [4, "int"],
});
const volumeCondition = message({ abnormal: [1, "bool"], message: [2, "text"] });
const nodeGetVolumeStatsResponse = message({
  usage: [1, { many: volumeUsage }],
  volumeCondition: [2, { one: volumeCondition }],
});

const NODE = "/csi.v1.Node";

export const csiNodeMethods = {
  stage: {
    path: `${NODE}/NodeStageVolume`,
    request: nodeStageVolumeRequest,
    response: empty,
  },
  unstage: {
    path: `${NODE}/NodeUnstageVolume`,
    request: nodeUnstageVolumeRequest,
    response: empty,
  },
  publish: {
    path: `${NODE}/NodePublishVolume`,
    request: nodePublishVolumeRequest,
    response: empty,
  },
  unpublish: {
    path: `${NODE}/NodeUnpublishVolume`,
    request: nodeUnpublishVolumeRequest,
    response: empty,
  },
  expand: {
    path: `${NODE}/NodeExpandVolume`,
    request: nodeExpandVolumeRequest,
    response: nodeExpandVolumeResponse,
  },
  volumeStats: {
    path: `${NODE}/NodeGetVolumeStats`,
    request: nodeGetVolumeStatsRequest,
    response: nodeGetVolumeStatsResponse,
  },
  capabilities: {
    path: `${NODE}/NodeGetCapabilities`,
    request: empty,
    response: nodeGetCapabilitiesResponse,
  },
  info: { path: `${NODE}/NodeGetInfo`, request: empty, response: nodeGetInfoResponse },
} as const;

/** NodeServiceCapability.RPC.Type */
export const NODE_CAPABILITY = {
  STAGE_UNSTAGE_VOLUME: 1,
  GET_VOLUME_STATS: 2,
  EXPAND_VOLUME: 3,
  SINGLE_NODE_MULTI_WRITER: 5,
  VOLUME_MOUNT_GROUP: 6,
} as const;

/** VolumeCapability.AccessMode.Mode */
const ACCESS = {
  SINGLE_NODE_WRITER: 1,
  MULTI_NODE_READER_ONLY: 3,
  MULTI_NODE_MULTI_WRITER: 5,
  SINGLE_NODE_SINGLE_WRITER: 6,
  SINGLE_NODE_MULTI_WRITER: 7,
} as const;

/** `separatesWriters`: the driver has the capability SINGLE_NODE_MULTI_WRITER. */
export function csiAccessMode(mode: string, separatesWriters: boolean): number {
  switch (mode) {
    case "ReadOnlyMany":
      return ACCESS.MULTI_NODE_READER_ONLY;
    case "ReadWriteMany":
      return ACCESS.MULTI_NODE_MULTI_WRITER;
    case "ReadWriteOncePod":
      return separatesWriters ? ACCESS.SINGLE_NODE_SINGLE_WRITER : ACCESS.SINGLE_NODE_WRITER;
    default:
      return separatesWriters ? ACCESS.SINGLE_NODE_MULTI_WRITER : ACCESS.SINGLE_NODE_WRITER;
  }
}
