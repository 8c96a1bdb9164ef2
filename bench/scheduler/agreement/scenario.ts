/**
 * A seeded cluster and pods that ask for a node in it, one at a time: taints, affinities, spread
 * constraints, ports, extended resources, volumes, devices, Services, disruption budgets.
 */
import type { Node, Pod } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { runtimeClassKind } from "#api/kinds/node/v1/runtime-class.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import type { Draft } from "#testing/build.ts";
import { type Dice, diceOf } from "../../load/dice.ts";
import { ANY_DEVICE, LARGE_DEVICE, PROFILES, type ProfileName } from "./profiles.ts";
import { clusterDevices, podDevices } from "./scenario-devices.ts";
import { nodesOf } from "./scenario-nodes.ts";
import { NAMESPACES, pendingPodOf, RUNTIME_CLASS, runningPodOf } from "./scenario-pods.ts";
import { clusterVolumes, podVolume } from "./scenario-volumes.ts";
import { type Seed, seedOf } from "./seed.ts";

const CASES = 6;

/** A pod that asks for a node. `tag` names it and its objects, so that each scheduler has its own. */
export interface Case {
  readonly name: string;
  /** The profile of the scheduler that the pod names. */
  readonly profile: ProfileName;
  /** The scheduler makes a ResourceClaim for the pod. */
  readonly makesClaim: boolean;
  of(tag: string): { readonly pod: Draft<Pod>; readonly seeds: readonly Seed[] };
}

export interface Scenario {
  readonly nodes: readonly Draft<Node>[];
  readonly running: readonly Draft<Pod>[];
  readonly others: readonly Seed[];
  readonly cases: readonly Case[];
}

export function scenarioOf(seed: number): Scenario {
  const dice = diceOf(seed);
  const nodes = nodesOf(dice);
  const running = Array.from({ length: dice.integer(nodes.length * 3) }, (_, index) =>
    runningPodOf(dice, index, nodes.length),
  );
  return {
    nodes,
    running,
    others: [
      ...namespaces(),
      runtimeClass(),
      ...services(dice),
      ...budgets(dice),
      ...clusterVolumes(dice, nodes.length),
      ...clusterDevices(dice, nodes.length, seed),
    ],
    cases: Array.from({ length: CASES }, (_, index) => caseOf(dice, `c${index}`)),
  };
}

function caseOf(dice: Dice, name: string): Case {
  const profile = dice.chance(0.6) ? "default" : dice.pick(PROFILES);
  const isForDevices = dice.chance(profile === "default" ? 0.1 : 0.7);
  const pod = isForDevices ? withDeviceResource(dice, pendingPodOf(dice)) : pendingPodOf(dice);
  const namespace = pod.metadata?.namespace ?? "default";
  const volume = dice.chance(0.25) ? podVolume(dice, namespace) : undefined;
  const devices = dice.chance(0.2) ? podDevices(dice, namespace) : undefined;
  return {
    ...{ name, profile, makesClaim: isForDevices },
    of: (tag) => {
      const mounted = volume?.(tag);
      const claimed = devices?.(tag);
      const spec = {
        ...pod.spec,
        ...(mounted === undefined ? {} : { volumes: [mounted.volume] }),
        ...(claimed === undefined ? {} : { resourceClaims: claimed.claims }),
      };
      return {
        pod: { ...pod, metadata: { ...pod.metadata, name: `${name}-${tag}` }, spec },
        seeds: [...(mounted?.seeds ?? []), ...(claimed?.seeds ?? [])],
      };
    },
  };
}

/** The pod asks for an extended resource that a DeviceClass stands for. */
function withDeviceResource(dice: Dice, pod: Draft<Pod>): Draft<Pod> {
  const [first, ...others] = pod.spec?.containers ?? [];
  const asked = { [dice.pick([LARGE_DEVICE, ANY_DEVICE])]: dice.pick(["1", "2"]) };
  const { requests, limits } = first?.resources ?? {};
  const resources = { requests: { ...requests, ...asked }, limits: { ...limits, ...asked } };
  return { ...pod, spec: { ...pod.spec, containers: [{ ...first, resources }, ...others] } };
}

function namespaces(): readonly Seed[] {
  return NAMESPACES.filter((name) => name !== "default").map((name) =>
    seedOf(namespaceKind, {
      metadata: { name, labels: { team: name === "team-a" ? "a" : "b" } },
      status: { phase: "Active" },
    }),
  );
}

function runtimeClass(): Seed {
  const podFixed = { cpu: "250m", memory: "64Mi" };
  return seedOf(runtimeClassKind, {
    ...{ metadata: { name: RUNTIME_CLASS }, handler: "x", overhead: { podFixed } },
  });
}

/** Pods that a Service selects are spread by default. */
function services(dice: Dice): readonly Seed[] {
  return NAMESPACES.filter(() => dice.chance(0.5)).map((namespace) =>
    seedOf(serviceKind, {
      metadata: { name: "web", namespace },
      spec: { selector: { app: "web" }, ports: [{ port: 80 }], clusterIP: "None" },
    }),
  );
}

function budgets(dice: Dice): readonly Seed[] {
  return NAMESPACES.filter(() => dice.chance(0.4)).map((namespace) =>
    seedOf(podDisruptionBudgetKind, {
      metadata: { name: "budget", namespace },
      spec: { minAvailable: 1, selector: { matchLabels: { app: dice.pick(["web", "db"]) } } },
      status: {
        ...{ disruptionsAllowed: dice.integer(2), currentHealthy: 2, desiredHealthy: 1 },
        expectedPods: 2,
      },
    }),
  );
}
