/**
 * The profiles that both schedulers have: the default one, and two whose scores count extended
 * resources, offered by device plugins or backed by devices.
 */
import { EMPTY_CONFIG } from "#scheduler/config/read-config.ts";
import { DEFAULT_SCHEDULER_NAME } from "#scheduler/config/scheduler-config.ts";
import { GPU } from "./scenario-nodes.ts";

export type Player = "upstream" | "ours";
export type ProfileName = (typeof PROFILES)[number];

export const PROFILES = ["default", "packing", "ratio"] as const;

/** A class with selectors stands for it. */
export const LARGE_DEVICE = "example.com/large";
/** A class without selectors stands for it. */
export const ANY_DEVICE = "example.com/any";

export function schedulerNameOf(player: Player, profile: ProfileName): string {
  const name = player === "upstream" ? "upstream-scheduler" : DEFAULT_SCHEDULER_NAME;
  return profile === "default" ? name : `${name}-${profile}`;
}

/** A KubeSchedulerConfiguration. */
export function configurationOf(player: Player) {
  return {
    ...EMPTY_CONFIG,
    profiles: PROFILES.map((profile) => ({
      schedulerName: schedulerNameOf(player, profile),
      ...(profile === "default" ? {} : { pluginConfig: pluginConfigOf(profile) }),
    })),
  };
}

function pluginConfigOf(profile: "packing" | "ratio") {
  const resources = [
    { name: "cpu", weight: 1 },
    { name: "memory", weight: 1 },
    { name: GPU, weight: 2 },
    { name: LARGE_DEVICE, weight: 3 },
    { name: ANY_DEVICE, weight: 2 },
  ];
  const shape = [
    { utilization: 0, score: 0 },
    { utilization: 60, score: 9 },
    { utilization: 100, score: 4 },
  ];
  const strategy =
    profile === "packing"
      ? { type: "MostAllocated", resources }
      : { type: "RequestedToCapacityRatio", resources, requestedToCapacityRatio: { shape } };
  // kube-scheduler 1.36 crashes when this plugin evaluates selectors of a class.
  const balanced = [
    { name: "cpu", weight: 1 },
    { name: "memory", weight: 1 },
    { name: ANY_DEVICE, weight: 1 },
  ];
  return [
    { name: "NodeResourcesFit", args: { scoringStrategy: strategy } },
    { name: "NodeResourcesBalancedAllocation", args: { resources: balanced } },
  ];
}
