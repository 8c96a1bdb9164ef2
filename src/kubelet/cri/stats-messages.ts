/** CRI v1: usage of containers, sandboxes and file systems. Counters are unsigned 64-bit. */
import { message, type ReadOf } from "#lib/protobuf/message.ts";
import { uint64Value } from "./common-messages.ts";
import { containerMetadata } from "./container-messages.ts";
import { podSandboxMetadata } from "./sandbox-messages.ts";

const psiData = message({
  total: [1, "int64"],
  avg10: [2, "double"],
  avg60: [3, "double"],
  avg300: [4, "double"],
});
const psiStats = message({ full: [1, { one: psiData }], some: [2, { one: psiData }] });

const cpuUsage = message({
  timestamp: [1, "int64"],
  usageCoreNanoSeconds: [2, { one: uint64Value }],
  usageNanoCores: [3, { one: uint64Value }],
  psi: [4, { one: psiStats }],
});

const memoryUsage = message({
  timestamp: [1, "int64"],
  workingSetBytes: [2, { one: uint64Value }],
  availableBytes: [3, { one: uint64Value }],
  usageBytes: [4, { one: uint64Value }],
  rssBytes: [5, { one: uint64Value }],
  pageFaults: [6, { one: uint64Value }],
  majorPageFaults: [7, { one: uint64Value }],
  psi: [8, { one: psiStats }],
});

const filesystemIdentifier = message({ mountpoint: [1, "text"] });
export const filesystemUsage = message({
  timestamp: [1, "int64"],
  fsId: [2, { one: filesystemIdentifier }],
  usedBytes: [3, { one: uint64Value }],
  inodesUsed: [4, { one: uint64Value }],
});
export type FilesystemUsage = ReadOf<typeof filesystemUsage>;

const swapUsage = message({
  timestamp: [1, "int64"],
  swapAvailableBytes: [2, { one: uint64Value }],
  swapUsageBytes: [3, { one: uint64Value }],
});

const containerAttributes = message({
  id: [1, "text"],
  metadata: [2, { one: containerMetadata }],
  labels: [3, { map: "text" }],
  annotations: [4, { map: "text" }],
});

export const containerStats = message({
  attributes: [1, { one: containerAttributes }],
  cpu: [2, { one: cpuUsage }],
  memory: [3, { one: memoryUsage }],
  writableLayer: [4, { one: filesystemUsage }],
  swap: [5, { one: swapUsage }],
});
export type ContainerStats = ReadOf<typeof containerStats>;

export const containerStatsFilter = message({
  id: [1, "text"],
  podSandboxId: [2, "text"],
  labelSelector: [3, { map: "text" }],
});

const interfaceUsage = message({
  name: [1, "text"],
  rxBytes: [2, { one: uint64Value }],
  rxErrors: [3, { one: uint64Value }],
  txBytes: [4, { one: uint64Value }],
  txErrors: [5, { one: uint64Value }],
});
const networkUsage = message({
  timestamp: [1, "int64"],
  defaultInterface: [2, { one: interfaceUsage }],
  interfaces: [3, { many: interfaceUsage }],
});
const processUsage = message({
  timestamp: [1, "int64"],
  processCount: [2, { one: uint64Value }],
});

const podSandboxAttributes = message({
  id: [1, "text"],
  metadata: [2, { one: podSandboxMetadata }],
  labels: [3, { map: "text" }],
  annotations: [4, { map: "text" }],
});
const linuxPodSandboxStats = message({
  cpu: [1, { one: cpuUsage }],
  memory: [2, { one: memoryUsage }],
  network: [3, { one: networkUsage }],
  process: [4, { one: processUsage }],
  containers: [5, { many: containerStats }],
});
export const podSandboxStats = message({
  attributes: [1, { one: podSandboxAttributes }],
  linux: [2, { one: linuxPodSandboxStats }],
});
export type PodSandboxStats = ReadOf<typeof podSandboxStats>;

export const podSandboxStatsFilter = message({
  id: [1, "text"],
  labelSelector: [2, { map: "text" }],
});
