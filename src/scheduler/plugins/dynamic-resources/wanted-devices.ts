/** The requests of a claim in one form: each is a list of alternatives, the preferred first. */
import type {
  DeviceClass,
  DeviceSelector,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
  ResourceClaim,
} from "#api/generated/resource.v1.ts";
import type { ClusterObjects } from "#scheduler/snapshot/cluster-objects.ts";

export interface WantedRequest {
  readonly name: string;
  /** The request of which this is an alternative. */
  readonly parent: string | undefined;
  readonly deviceClass: DeviceClass;
  readonly selectors: readonly DeviceSelector[];
  readonly isAll: boolean;
  readonly count: number;
  readonly adminAccess: boolean;
  readonly tolerations: readonly DeviceToleration[];
  /** Its place among the alternatives, 0 for the preferred one. */
  readonly rank: number;
}

export interface WantedDevices {
  readonly claim: ResourceClaim;
  readonly requests: readonly (readonly WantedRequest[])[];
}

/** What a claim asks for, or why it cannot be had anywhere. */
export function wantedDevices(
  claim: ResourceClaim,
  { deviceClasses }: Pick<ClusterObjects, "deviceClasses">,
): WantedDevices | string {
  const requests: WantedRequest[][] = [];
  for (const { name, exactly, firstAvailable = [] } of claim.spec.devices.requests ?? []) {
    const alternatives: WantedRequest[] = [];
    const specs: readonly [string, string | undefined, ExactDeviceRequest | DeviceSubRequest][] =
      exactly === undefined
        ? firstAvailable.map((one) => [one.name, name, one] as const)
        : [[name, undefined, exactly]];
    for (const [own, parent, spec] of specs) {
      const found = deviceClasses.get(undefined, spec.deviceClassName);
      if (found === undefined) {
        const path = parent === undefined ? own : `${parent}/${own}`;
        return `request ${path}: device class ${spec.deviceClassName} does not exist`;
      }
      alternatives.push({
        ...{ name: own, parent, deviceClass: found, selectors: spec.selectors ?? [] },
        isAll: spec.allocationMode === "All",
        count: spec.count ?? 1,
        adminAccess: "adminAccess" in spec && spec.adminAccess === true,
        tolerations: spec.tolerations ?? [],
        rank: alternatives.length,
      });
    }
    requests.push(alternatives);
  }
  return { claim, requests };
}
