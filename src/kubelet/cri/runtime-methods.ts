/** CRI v1: the methods of runtime.v1.RuntimeService with their requests and responses. */
import type { GrpcMethod } from "#lib/grpc/grpc-messages.ts";
import { type MessageType, message, type ReadOf } from "#lib/protobuf/message.ts";
import { empty, linuxContainerResources } from "./common-messages.ts";
import {
  container,
  containerConfig,
  containerFilter,
  containerStatus,
} from "./container-messages.ts";
import {
  podSandbox,
  podSandboxConfig,
  podSandboxFilter,
  podSandboxStatus,
} from "./sandbox-messages.ts";
import {
  containerStats,
  containerStatsFilter,
  podSandboxStats,
  podSandboxStatsFilter,
} from "./stats-messages.ts";

const sandboxId = message({ podSandboxId: [1, "text"] });
const containerId = message({ containerId: [1, "text"] });

const versionResponse = message({
  version: [1, "text"],
  runtimeName: [2, "text"],
  runtimeVersion: [3, "text"],
  runtimeApiVersion: [4, "text"],
});
export type RuntimeVersion = ReadOf<typeof versionResponse>;

const runtimeCondition = message({
  type: [1, "text"],
  status: [2, "bool"],
  reason: [3, "text"],
  message: [4, "text"],
});
const runtimeHandler = message({
  name: [1, "text"],
  features: [
    2,
    { one: message({ recursiveReadOnlyMounts: [1, "bool"], userNamespaces: [2, "bool"] }) },
  ],
});
const statusResponse = message({
  status: [1, { one: message({ conditions: [1, { many: runtimeCondition }] }) }],
  info: [2, { map: "text" }],
  runtimeHandlers: [3, { many: runtimeHandler }],
  features: [
    4,
    {
      one: message({
        supplementalGroupsPolicy: [1, "bool"],
        userNamespacesHostNetwork: [2, "bool"],
      }),
    },
  ],
});
export type RuntimeStatus = ReadOf<typeof statusResponse>;

const execSyncResponse = message({
  stdout: [1, "bytes"],
  stderr: [2, "bytes"],
  exitCode: [3, "int"],
});
export type ExecResult = ReadOf<typeof execSyncResponse>;

const containerEvent = message({
  containerId: [1, "text"],
  containerEventType: [2, "int"],
  createdAt: [3, "int64"],
  podSandboxStatus: [4, { one: podSandboxStatus }],
  containersStatuses: [5, { many: containerStatus }],
});
export type ContainerEvent = ReadOf<typeof containerEvent>;

const url = message({ url: [1, "text"] });

export const runtimeMethods = {
  version: method("Version", message({ version: [1, "text"] }), versionResponse),
  status: method("Status", message({ verbose: [1, "bool"] }), statusResponse),
  runPodSandbox: method(
    "RunPodSandbox",
    message({ config: [1, { one: podSandboxConfig }], runtimeHandler: [2, "text"] }),
    sandboxId,
  ),
  stopPodSandbox: method("StopPodSandbox", sandboxId, empty),
  removePodSandbox: method("RemovePodSandbox", sandboxId, empty),
  podSandboxStatus: method(
    "PodSandboxStatus",
    message({ podSandboxId: [1, "text"], verbose: [2, "bool"] }),
    message({
      status: [1, { one: podSandboxStatus }],
      info: [2, { map: "text" }],
      containersStatuses: [3, { many: containerStatus }],
      timestamp: [4, "int64"],
    }),
  ),
  listPodSandbox: method(
    "ListPodSandbox",
    message({ filter: [1, { one: podSandboxFilter }] }),
    message({ items: [1, { many: podSandbox }] }),
  ),
  createContainer: method(
    "CreateContainer",
    message({
      podSandboxId: [1, "text"],
      config: [2, { one: containerConfig }],
      sandboxConfig: [3, { one: podSandboxConfig }],
    }),
    containerId,
  ),
  startContainer: method("StartContainer", containerId, empty),
  stopContainer: method(
    "StopContainer",
    message({ containerId: [1, "text"], timeout: [2, "int"] }),
    empty,
  ),
  removeContainer: method("RemoveContainer", containerId, empty),
  listContainers: method(
    "ListContainers",
    message({ filter: [1, { one: containerFilter }] }),
    message({ containers: [1, { many: container }] }),
  ),
  containerStatus: method(
    "ContainerStatus",
    message({ containerId: [1, "text"], verbose: [2, "bool"] }),
    message({ status: [1, { one: containerStatus }], info: [2, { map: "text" }] }),
  ),
  updateContainerResources: method(
    "UpdateContainerResources",
    message({
      containerId: [1, "text"],
      linux: [2, { one: linuxContainerResources }],
      annotations: [4, { map: "text" }],
    }),
    empty,
  ),
  reopenContainerLog: method("ReopenContainerLog", containerId, empty),
  execSync: method(
    "ExecSync",
    message({ containerId: [1, "text"], cmd: [2, { list: "text" }], timeout: [3, "int"] }),
    execSyncResponse,
  ),
  exec: method(
    "Exec",
    message({
      containerId: [1, "text"],
      cmd: [2, { list: "text" }],
      tty: [3, "bool"],
      stdin: [4, "bool"],
      stdout: [5, "bool"],
      stderr: [6, "bool"],
    }),
    url,
  ),
  attach: method(
    "Attach",
    message({
      containerId: [1, "text"],
      stdin: [2, "bool"],
      tty: [3, "bool"],
      stdout: [4, "bool"],
      stderr: [5, "bool"],
    }),
    url,
  ),
  portForward: method(
    "PortForward",
    message({ podSandboxId: [1, "text"], port: [2, { list: "int" }] }),
    url,
  ),
  containerStats: method(
    "ContainerStats",
    containerId,
    message({ stats: [1, { one: containerStats }] }),
  ),
  listContainerStats: method(
    "ListContainerStats",
    message({ filter: [1, { one: containerStatsFilter }] }),
    message({ stats: [1, { many: containerStats }] }),
  ),
  listPodSandboxStats: method(
    "ListPodSandboxStats",
    message({ filter: [1, { one: podSandboxStatsFilter }] }),
    message({ stats: [1, { many: podSandboxStats }] }),
  ),
  updateRuntimeConfig: method(
    "UpdateRuntimeConfig",
    message({
      runtimeConfig: [
        1,
        { one: message({ networkConfig: [1, { one: message({ podCidr: [1, "text"] }) }] }) },
      ],
    }),
    empty,
  ),
  checkpointContainer: method(
    "CheckpointContainer",
    message({ containerId: [1, "text"], location: [2, "text"], timeout: [3, "int"] }),
    empty,
  ),
  getContainerEvents: method("GetContainerEvents", empty, containerEvent),
  runtimeConfig: method(
    "RuntimeConfig",
    empty,
    message({ linux: [1, { one: message({ cgroupDriver: [1, "int"] }) }] }),
  ),
} as const;

function method<Q, W, A, B>(
  name: string,
  request: MessageType<Q, W>,
  response: MessageType<A, B>,
): GrpcMethod<W, A> {
  return { path: `/runtime.v1.RuntimeService/${name}`, request, response };
}
