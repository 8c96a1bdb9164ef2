/** What a scheduler runs with, after the configuration was read, defaulted and checked. */
import type { Hook } from "#scheduler/cycle/profile.ts";
import type { ExtenderConfig } from "./extender-config.ts";

export interface PluginRef {
  readonly name: string;
  /** Of scores; 1 unless given. */
  readonly weight?: number;
}

export interface PluginSet {
  readonly enabled: readonly PluginRef[];
  /** `*` disables all. */
  readonly disabled: readonly string[];
}

export interface ProfileConfig {
  readonly schedulerName: string;
  /** Enabled for every hook they have. */
  readonly multiPoint: PluginSet;
  readonly hooks: Readonly<Partial<Record<Hook, PluginSet>>>;
  /** Arguments by plugin name. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly percentageOfNodesToScore?: number;
}

export interface SchedulerConfig {
  readonly profiles: readonly ProfileConfig[];
  readonly extenders: readonly ExtenderConfig[];
  readonly percentageOfNodesToScore: number;
  readonly podInitialBackoffSeconds: number;
  readonly podMaxBackoffSeconds: number;
  /** A pod that waits longer for a change is tried again; five minutes unless given. */
  readonly unschedulableMaxMs?: number;
}

export const DEFAULT_SCHEDULER_NAME = "default-scheduler";

/** The plugins of a profile that says nothing, in upstream's order. */
export const DEFAULT_PLUGINS: readonly PluginRef[] = [
  { name: "SchedulingGates" },
  { name: "PrioritySort" },
  { name: "NodeUnschedulable" },
  { name: "NodeName" },
  { name: "TaintToleration", weight: 3 },
  { name: "NodeAffinity", weight: 2 },
  { name: "NodePorts" },
  { name: "NodeResourcesFit", weight: 1 },
  { name: "VolumeRestrictions" },
  { name: "NodeVolumeLimits" },
  { name: "VolumeBinding" },
  { name: "VolumeZone" },
  { name: "PodTopologySpread", weight: 2 },
  { name: "InterPodAffinity", weight: 2 },
  { name: "DynamicResources", weight: 2 },
  { name: "DefaultPreemption" },
  { name: "NodeResourcesBalancedAllocation", weight: 1 },
  { name: "ImageLocality", weight: 1 },
  { name: "DefaultBinder" },
  { name: "NodeDeclaredFeatures" },
];

export const DEFAULT_CONFIG: SchedulerConfig = {
  profiles: [
    {
      schedulerName: DEFAULT_SCHEDULER_NAME,
      multiPoint: { enabled: DEFAULT_PLUGINS, disabled: [] },
      hooks: {},
      args: {},
    },
  ],
  extenders: [],
  percentageOfNodesToScore: 0,
  podInitialBackoffSeconds: 1,
  podMaxBackoffSeconds: 10,
};
