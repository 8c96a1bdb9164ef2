/** Every plugin that comes with the scheduler. */
import type { PluginFactory } from "#scheduler/plugin.ts";
import { defaultBinder } from "./default-binder.ts";
import { defaultPreemption } from "./default-preemption.ts";
import { sharedDeviceState } from "./dynamic-resources/device-state.ts";
import { dynamicResources } from "./dynamic-resources/dynamic-resources.ts";
import { imageLocality } from "./image-locality.ts";
import { interPodAffinity } from "./inter-pod-affinity.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeDeclaredFeatures } from "./node-declared-features.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { nodeResourcesBalancedAllocation } from "./node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./node-resources-fit.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { podTopologySpread } from "./pod-topology-spread.ts";
import { prioritySort } from "./priority-sort.ts";
import { schedulingGates } from "./scheduling-gates.ts";
import { taintToleration } from "./taint-toleration.ts";
import { nodeVolumeLimits } from "./volumes/node-volume-limits.ts";
import { volumeBinding } from "./volumes/volume-binding.ts";
import { volumeRestrictions } from "./volumes/volume-restrictions.ts";
import { volumeZone } from "./volumes/volume-zone.ts";

/** For one scheduler: plugins may share state between its profiles. */
export function builtInPlugins(): readonly PluginFactory[] {
  const devices = sharedDeviceState();
  return [
    defaultBinder,
    defaultPreemption,
    dynamicResources(devices),
    imageLocality,
    interPodAffinity,
    nodeAffinity,
    nodeDeclaredFeatures,
    nodeName,
    nodePorts,
    nodeResourcesBalancedAllocation(devices),
    nodeResourcesFit(devices),
    nodeUnschedulable,
    nodeVolumeLimits,
    podTopologySpread,
    prioritySort,
    schedulingGates,
    taintToleration,
    volumeBinding,
    volumeRestrictions,
    volumeZone,
  ];
}
