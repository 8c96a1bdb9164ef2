/** How much swap containers may use. Pure. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { mayEvict } from "../node/eviction.ts";

export interface SwapSettings {
  /** `memorySwap.swapBehavior`: "" and NoSwap are the same. */
  readonly behavior: string;
  readonly cgroupVersion: 1 | 2;
  /** The kernel limits swap by cgroup. */
  readonly hasController: boolean;
  /** Of the machine. */
  readonly memoryBytes: number;
  readonly swapBytes: number;
}

export interface SwapLimits {
  /** Version 1: memory and swap together. */
  readonly memorySwapLimitBytes?: number;
  /** Version 2: swap alone. */
  readonly swapMaxBytes?: number;
}

/**
 * LimitedSwap is for containers of Burstable pods that ask for less memory than their limit: each gets
 * the share of swap that its request is of the machine's memory. Nobody else gets any, critical pods
 * included.
 */
export function swapLimits(
  pod: Pod,
  container: Container,
  memoryLimitBytes: number | undefined,
  settings: SwapSettings,
): SwapLimits {
  if (!settings.hasController) return {};
  if (settings.cgroupVersion === 1) {
    return memoryLimitBytes === undefined ? {} : { memorySwapLimitBytes: memoryLimitBytes };
  }
  return { swapMaxBytes: swapOf(pod, container, settings) };
}

function swapOf(pod: Pod, { resources }: Container, settings: SwapSettings): number {
  const { behavior, memoryBytes, swapBytes } = settings;
  if (behavior !== "LimitedSwap" || !mayEvict(pod)) return 0;
  if (qosClassOf(pod.spec) !== "Burstable") return 0;
  const request = bytes(resources?.requests?.memory);
  if (request === bytes(resources?.limits?.memory)) return 0; // both may be missing
  if (memoryBytes <= 0 || request > memoryBytes) return 0;
  return Math.floor((request / memoryBytes) * swapBytes);
}

function bytes(text: string | undefined): number {
  return text === undefined ? 0 : quantityValue(quantityOf(text));
}
