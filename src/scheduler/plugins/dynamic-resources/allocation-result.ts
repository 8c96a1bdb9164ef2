/** What is written into a claim for the devices that were chosen. */
import type { NodeSelector, NodeSelectorRequirement } from "#api/generated/core.v1.ts";
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from "#api/generated/resource.v1.ts";
import { formatQuantity } from "#api/meta/quantity.ts";
import type { Random } from "#lib/random.ts";
import type { ChosenDevice } from "./allocator.ts";
import type { CapacityUse } from "./device-capacity.ts";
import type { WantedRequest } from "./wanted-devices.ts";

export function allocationOf(
  claim: ResourceClaim,
  chosen: readonly ChosenDevice[],
  nodeName: string,
  random: Random,
): AllocationResult {
  const results = chosen.map((one) => resultOf(one, random));
  const config = configOf(claim, chosen);
  const nodeSelector = nodeSelectorOf(chosen, nodeName);
  return {
    devices: { results, ...(config.length === 0 ? {} : { config }) },
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
  };
}

function resultOf(
  { request, device: { device, pool }, share }: ChosenDevice,
  random: Random,
): DeviceRequestAllocationResult {
  const { bindingConditions = [], bindingFailureConditions = [] } = device;
  return {
    request: fullName(request),
    driver: pool.driver,
    pool: pool.name,
    device: device.name,
    ...(request.adminAccess ? { adminAccess: true } : {}),
    ...(request.tolerations.length === 0 ? {} : { tolerations: request.tolerations }),
    ...(bindingConditions.length === 0 ? {} : { bindingConditions }),
    ...(bindingFailureConditions.length === 0 ? {} : { bindingFailureConditions }),
    ...(share === undefined ? {} : { shareID: random.uuid() }),
    ...(share === undefined || share.size === 0 ? {} : { consumedCapacity: textsOf(share) }),
  };
}

function textsOf(use: CapacityUse): Readonly<Record<string, string>> {
  return Object.fromEntries([...use].map(([name, amount]) => [name, formatQuantity(amount)]));
}

function fullName({ name, parent }: WantedRequest): string {
  return parent === undefined ? name : `${parent}/${name}`;
}

/** What classes and the claim say to the drivers, as far as it is about the chosen devices. */
function configOf(
  claim: ResourceClaim,
  chosen: readonly ChosenDevice[],
): DeviceAllocationConfiguration[] {
  const config: DeviceAllocationConfiguration[] = [];
  for (const request of new Set(chosen.map((one) => one.request))) {
    for (const one of request.deviceClass.spec.config ?? []) {
      config.push({ source: "FromClass", requests: [fullName(request)], ...one });
    }
  }
  const names = new Set(
    chosen.flatMap(({ request }) => [fullName(request), request.parent ?? request.name]),
  );
  for (const one of claim.spec.devices.config ?? []) {
    const isAbout =
      (one.requests ?? []).length === 0 || one.requests!.some((name) => names.has(name));
    if (isAbout) config.push({ source: "FromClaim", ...one });
  }
  return config;
}

/** Where the devices can be used: undefined for everywhere. */
function nodeSelectorOf(
  chosen: readonly ChosenDevice[],
  nodeName: string,
): NodeSelector | undefined {
  const matchFields: NodeSelectorRequirement[] = [];
  const matchExpressions: NodeSelectorRequirement[] = [];
  for (const { device } of chosen) {
    const { spec } = device.slice;
    const scope = spec.perDeviceNodeSelection === true ? device.device : spec;
    if ((scope.nodeName ?? "") !== "" || device.device.bindsToNode === true) {
      const only = { key: "metadata.name", operator: "In", values: [nodeName] } as const;
      return { nodeSelectorTerms: [{ matchFields: [only] }] };
    }
    const [term] = scope.nodeSelector?.nodeSelectorTerms ?? [];
    addNew(matchFields, term?.matchFields ?? []);
    addNew(matchExpressions, term?.matchExpressions ?? []);
  }
  if (matchFields.length + matchExpressions.length === 0) return undefined;
  const fields = matchFields.length === 0 ? {} : { matchFields };
  const expressions = matchExpressions.length === 0 ? {} : { matchExpressions };
  return { nodeSelectorTerms: [{ ...fields, ...expressions }] };
}

function addNew(all: NodeSelectorRequirement[], more: readonly NodeSelectorRequirement[]): void {
  for (const one of more) {
    const text = JSON.stringify(one);
    if (!all.some((known) => JSON.stringify(known) === text)) all.push(one);
  }
}
