/** Devices of a scenario: what the nodes offer, what is in use, and the claim of a pod. */
import type { Pod } from "#api/generated/core.v1.ts";
import { deviceClassKind } from "#api/kinds/resource/v1/device-class.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import type { Draft } from "#testing/build.ts";
import type { Dice } from "../../load/dice.ts";
import { ANY_DEVICE, LARGE_DEVICE } from "./profiles.ts";
import { type Seed, seedOf } from "./seed.ts";

const DRIVER = "gpu.example.com";

export interface PodDevices {
  readonly seeds: readonly Seed[];
  readonly claims: Draft<NonNullable<Pod["spec"]["resourceClaims"]>>;
}

/**
 * Pools have names of their own in each scenario: kube-scheduler remembers for as long as it runs
 * which devices a selector matched, by the name of the pool and of the device.
 */
export function clusterDevices(dice: Dice, nodeCount: number, scenario: number): readonly Seed[] {
  const seeds: Seed[] = [
    seedOf(deviceClassKind, {
      metadata: { name: "gpu" },
      spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
    }),
    seedOf(deviceClassKind, {
      metadata: { name: "large" },
      spec: {
        extendedResourceName: LARGE_DEVICE,
        selectors: [
          {
            cel: {
              expression: `device.driver == "${DRIVER}" && device.attributes["${DRIVER}"].model == "large"`,
            },
          },
        ],
      },
    }),
    seedOf(deviceClassKind, {
      metadata: { name: "any" },
      spec: { extendedResourceName: ANY_DEVICE },
    }),
  ];
  for (let index = 0; index < nodeCount; index++) {
    if (dice.chance(0.4)) continue;
    const node = `n${index}`;
    const pool = `${node}-${scenario}`;
    const devices = Array.from({ length: 1 + dice.integer(3) }, (_, device) => ({
      name: `gpu-${device}`,
      attributes: {
        model: { string: dice.pick(["small", "large"]) },
        index: { int: device },
      },
      capacity: { memory: { value: dice.pick(["8Gi", "40Gi"]) } },
      ...dice.maybe(0.15, () => ({
        taints: [{ key: "broken", value: "yes", effect: "NoSchedule" as const }],
      })),
    }));
    seeds.push(
      seedOf(resourceSliceKind, {
        metadata: { name: `slice-${node}` },
        spec: {
          ...{ driver: DRIVER, nodeName: node, devices },
          pool: { name: pool, generation: 1, resourceSliceCount: 1 },
        },
      }),
    );
    if (dice.chance(0.3)) seeds.push(usedDevice(node, pool));
  }
  return seeds;
}

/** The first device of the node belongs to a pod elsewhere. */
function usedDevice(node: string, pool: string): Seed {
  return seedOf(resourceClaimKind, {
    metadata: { name: `used-${node}`, namespace: "default" },
    spec: { devices: { requests: [{ name: "r", exactly: { deviceClassName: "gpu" } }] } },
    status: {
      allocation: {
        devices: { results: [{ request: "r", driver: DRIVER, pool, device: "gpu-0" }] },
      },
      reservedFor: [{ resource: "pods", name: "elsewhere", uid: "uid-elsewhere" }],
    },
  });
}

export function podDevices(dice: Dice, namespace: string): (tag: string) => PodDevices {
  const selector = dice.pick([
    undefined,
    `device.capacity["${DRIVER}"].memory.compareTo(quantity("10Gi")) >= 0`,
    `device.attributes["${DRIVER}"].index > 0`,
  ]);
  const exactly = {
    deviceClassName: dice.pick(["gpu", "gpu", "large", "absent"]),
    ...(selector === undefined ? {} : { selectors: [{ cel: { expression: selector } }] }),
    ...dice.maybe(0.3, () => ({ allocationMode: "ExactCount" as const, count: 2 })),
    ...dice.maybe(0.1, () => ({ allocationMode: "All" as const })),
    ...dice.maybe(0.3, () => ({ tolerations: [{ operator: "Exists" as const, key: "broken" }] })),
  };
  const prioritised = {
    firstAvailable: [
      { name: "two", deviceClassName: "large", allocationMode: "ExactCount" as const, count: 2 },
      { name: "one", deviceClassName: "gpu", allocationMode: "ExactCount" as const, count: 1 },
    ],
  };
  const request = dice.chance(0.25) ? { name: "r", ...prioritised } : { name: "r", exactly };
  const isMissing = dice.chance(0.1);
  return (tag) => ({
    seeds: isMissing
      ? []
      : [
          seedOf(resourceClaimKind, {
            metadata: { name: `device-${tag}`, namespace },
            spec: { devices: { requests: [request] } },
          }),
        ],
    claims: [{ name: "device", resourceClaimName: `device-${tag}` }],
  });
}
