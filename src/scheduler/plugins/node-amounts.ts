/**
 * How much of a resource a node has and how much of it is in use, for scores. An extended resource
 * that no device plugin of the node offers is counted in the devices that stand for it.
 */
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import { amountOf, isScalarResource } from "#scheduler/snapshot/resources.ts";
import { mayBeDevices } from "./dynamic-resources/device-class-resources.ts";
import type { DeviceTotal } from "./dynamic-resources/device-totals.ts";

/** The devices that stand for a resource on a node. */
export type DevicesOf = (resource: string, node: NodeInfo) => DeviceTotal | undefined;

export interface NodeAmounts {
  /** Zero leaves the resource out of the score. */
  capacity(resource: string, node: NodeInfo): number;
  used(resource: string, node: NodeInfo): number;
}

export function nodeAmounts(
  devicesOf: DevicesOf,
  usedOn: (resource: string, node: NodeInfo) => number,
): NodeAmounts {
  return {
    capacity: (resource, node) => {
      const offered = amountOf(node.allocatable, resource);
      return offered > 0 ? offered : (devicesOf(resource, node)?.capacity ?? 0);
    },
    used: (resource, node) => {
      const offered = amountOf(node.allocatable, resource);
      return offered > 0 ? usedOn(resource, node) : (devicesOf(resource, node)?.allocated ?? 0);
    },
  };
}

/** Extended resources count for pods that ask for them only. */
export function isScored(resource: string, asked: number): boolean {
  return asked !== 0 || !isScalarResource(resource);
}

/** Whether scores by these resources depend on nothing but the pod's spec, the node and its pods. */
export function dependsOnNodeOnly(resources: readonly string[]): boolean {
  return !resources.some(mayBeDevices);
}
