/**
 * What the plugins of one scheduler share about devices: every profile must know what the others
 * have allocated, and scores count devices that were given away a moment ago.
 */
import type { Handle } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { ClaimAllocations } from "./claim-allocations.ts";
import { DeviceClassResources, mayBeDevices } from "./device-class-resources.ts";
import { type DeviceTotal, DeviceTotals } from "./device-totals.ts";
import { SelectorCache } from "./selector-cache.ts";

export interface DeviceState {
  readonly allocations: ClaimAllocations;
  readonly classes: DeviceClassResources;
  readonly selectors: SelectorCache;
  /** The devices that stand for an extended resource on a node; undefined if none can. */
  totalOf(resource: string, node: NodeInfo): DeviceTotal | undefined;
}

/** Made for the first plugin that asks. */
export type DeviceStateOf = (handle: Handle) => DeviceState;

export function sharedDeviceState(): DeviceStateOf {
  let shared: DeviceState | undefined;
  return (handle) => {
    shared ??= createShared(handle);
    return shared;
  };
}

function createShared(handle: Handle): DeviceState {
  const { objects } = handle;
  const allocations = new ClaimAllocations(handle);
  const classes = new DeviceClassResources(() => objects.deviceClasses);
  const selectors = new SelectorCache();
  const totals = new DeviceTotals(objects.resourceSlices, allocations, selectors);
  return {
    ...{ allocations, classes, selectors },
    totalOf: (resource, { node }) => {
      if (node === undefined || !mayBeDevices(resource)) return undefined;
      const deviceClass = classes.classOf(resource);
      return deviceClass === undefined ? undefined : totals.of(deviceClass, node);
    },
  };
}
