/** What ResourceClaims cost: themselves and the devices they ask for, by class. */
import type { ResourceClaim } from "#api/generated/resource.v1.ts";
import { type Amounts, addAmounts } from "./amounts.ts";
import type { Measure } from "./measure.ts";

const DEVICES_SUFFIX = ".deviceclass.resource.k8s.io/devices";
const RESOURCE_CLAIM_COUNT = "count/resourceclaims.resource.k8s.io";
/** A claim for all devices of a class may get as many as one claim can hold. */
const DEVICES_MAX = 32;

export const resourceClaimMeasure: Measure = {
  covers: (resource) => resource === RESOURCE_CLAIM_COUNT || resource.endsWith(DEVICES_SUFFIX),
  usage(object) {
    const { spec } = object as ResourceClaim;
    let usage: Amounts = { [RESOURCE_CLAIM_COUNT]: "1" };
    for (const { exactly, firstAvailable = [] } of spec.devices.requests ?? []) {
      const most = new Map<string, number>();
      for (const one of exactly === undefined ? firstAvailable : [exactly]) {
        const { deviceClassName, allocationMode, count = 0 } = one;
        const devices = allocationMode === "All" ? DEVICES_MAX : count;
        const name = `${deviceClassName}${DEVICES_SUFFIX}`;
        most.set(name, Math.max(most.get(name) ?? 0, devices));
      }
      const amounts = [...most].map(([name, devices]) => [name, String(devices)]);
      usage = addAmounts(usage, Object.fromEntries(amounts));
    }
    return usage;
  },
  inScope: () => false,
  changesWith: (subresource) => subresource === "",
};
