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
  /** The CEL expressions that a device must match, those of the class first. */
  readonly expressions: readonly string[];
  readonly isAll: boolean;
  readonly count: number;
  readonly adminAccess: boolean;
  readonly tolerations: readonly DeviceToleration[];
  /** What it asks for of the device's capacities. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Its place among the alternatives, 0 for the preferred one. */
  readonly rank: number;
}

export interface WantedDevices {
  readonly claim: ResourceClaim;
  readonly requests: readonly (readonly WantedRequest[])[];
}

const CLAIM_SPECS_MAX = 1_000;

/** What claims ask for. Claims of one spec, as a template makes them, share one list of requests. */
export class WantedDevicesReader {
  readonly #deviceClasses: ClusterObjects["deviceClasses"];
  readonly #known = new Map<string, WantedDevices["requests"]>();

  constructor({ deviceClasses }: Pick<ClusterObjects, "deviceClasses">) {
    this.#deviceClasses = deviceClasses;
  }

  /** What the claim asks for, or why it cannot be had anywhere. */
  read(claim: ResourceClaim): WantedDevices | string {
    const key = JSON.stringify(claim.spec.devices);
    const known = this.#known.get(key);
    if (known !== undefined && this.#isCurrent(known)) return { claim, requests: known };
    const requests = requestsOf(claim, this.#deviceClasses);
    if (typeof requests === "string") return requests;
    if (this.#known.size >= CLAIM_SPECS_MAX) this.#known.clear();
    this.#known.set(key, requests);
    return { claim, requests };
  }

  #isCurrent(requests: WantedDevices["requests"]): boolean {
    return requests.every((alternatives) =>
      alternatives.every(
        ({ deviceClass }) =>
          this.#deviceClasses.get(undefined, deviceClass.metadata.name ?? "") === deviceClass,
      ),
    );
  }
}

function requestsOf(
  claim: ResourceClaim,
  deviceClasses: ClusterObjects["deviceClasses"],
): WantedDevices["requests"] | string {
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
        ...{ name: own, parent, deviceClass: found },
        expressions: expressionsOf([...(found.spec.selectors ?? []), ...(spec.selectors ?? [])]),
        isAll: spec.allocationMode === "All",
        count: spec.count ?? 1,
        adminAccess: "adminAccess" in spec && spec.adminAccess === true,
        tolerations: spec.tolerations ?? [],
        capacity: spec.capacity?.requests ?? {},
        rank: alternatives.length,
      });
    }
    requests.push(alternatives);
  }
  return requests;
}

/** The CEL expressions of selectors. */
export function expressionsOf(selectors: readonly DeviceSelector[]): readonly string[] {
  return selectors.flatMap(({ cel }) => (cel === undefined ? [] : [cel.expression]));
}
