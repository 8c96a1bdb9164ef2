/**
 * Devices that must be prepared before their pod is bound: the driver sets the binding conditions of
 * the device in the claim's status, or one of the binding failure conditions.
 */
import type {
  AllocatedDeviceStatus,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from "#api/generated/resource.v1.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { WatchedCache } from "#scheduler/snapshot/cluster-objects.ts";

export type BindingState =
  | { readonly is: "ready" | "pending" | "timed-out" }
  | { readonly is: "failed"; readonly message: string };

export function hasBindingConditions({ status }: ResourceClaim): boolean {
  return (status?.allocation?.devices.results ?? []).some(isConditional);
}

/** The driver of each device with binding conditions. */
export function conditionalDrivers(claims: readonly ResourceClaim[]): readonly string[] {
  return claims
    .flatMap(({ status }) => status?.allocation?.devices.results ?? [])
    .filter(isConditional)
    .map(({ driver }) => driver);
}

/** The label of metrics for a wait that ended with this error. */
export function waitStatusOf(error: unknown): "timeout" | "failure" | "error" {
  const message = error instanceof Error ? error.message : "";
  if (message.startsWith(TIMEOUT)) return "timeout";
  return message.startsWith(FAILURE) ? "failure" : "error";
}

const TIMEOUT = "device binding timeout";
const FAILURE = "device binding failed";

/** Whether the devices of an allocated claim are prepared. */
export function bindingStateOf(
  claim: ResourceClaim,
  timeoutMs: number,
  nowMs: number,
): BindingState {
  const { allocation, devices = [] } = claim.status ?? {};
  let isReady = allocation !== undefined;
  for (const result of allocation?.devices.results ?? []) {
    if (!isConditional(result)) continue;
    const device = devices.find((one) => isSameDevice(one, result));
    if (device === undefined) {
      isReady = false;
      break;
    }
    const failed = (result.bindingFailureConditions ?? [])
      .map((type) => trueCondition(device, type))
      .find((condition) => condition !== undefined);
    if (failed !== undefined) {
      const { reason = "", message = "" } = failed;
      const about = `claim=${claim.metadata.name}, reason=${reason}, message=${goQuote(message)}`;
      return { is: "failed", message: `${FAILURE}: ${about}` };
    }
    const isMet = (type: string): boolean => trueCondition(device, type) !== undefined;
    if (!(result.bindingConditions ?? []).every(isMet)) {
      isReady = false;
      break;
    }
  }
  if (isReady) return { is: "ready" };
  const allocatedMs = Date.parse(allocation?.allocationTimestamp ?? "");
  const isLate = hasBindingConditions(claim) && allocatedMs + timeoutMs < nowMs;
  return { is: isLate ? "timed-out" : "pending" };
}

export interface BindingWait {
  readonly claims: WatchedCache<ResourceClaim>;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/** Resolves when the devices of all the claims are prepared; rejects if that fails or takes too long. */
export async function untilReadyToBind(
  claims: readonly ResourceClaim[],
  { claims: cache, clock, timeoutMs }: BindingWait,
  signal: AbortSignal,
): Promise<void> {
  const life = new AbortController();
  const both = AbortSignal.any([life.signal, signal]);
  try {
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        const outcome = outcomeOf(claims, cache, timeoutMs, clock.nowMs());
        if (outcome === "ready") resolve();
        else if (outcome !== "pending") reject(new Error(outcome));
      };
      cache.on(look, both);
      clock
        .sleep(timeoutMs, both)
        .then(() => reject(new Error(`${TIMEOUT}: context deadline exceeded`)))
        .catch(reject);
      look();
    });
  } finally {
    life.abort();
  }
}

/** "ready", "pending", or the text of an error. */
function outcomeOf(
  claims: readonly ResourceClaim[],
  cache: WatchedCache<ResourceClaim>,
  timeoutMs: number,
  nowMs: number,
): string {
  for (const { metadata } of claims) {
    const { namespace, name = "" } = metadata;
    const claim = cache.get(namespace, name);
    if (claim === undefined) return `resourceclaim.resource.k8s.io ${goQuote(name)} not found`;
    const state = bindingStateOf(claim, timeoutMs, nowMs);
    if (state.is === "failed") return state.message;
    if (state.is === "timed-out") return `${TIMEOUT}: claim=${name}`;
    if (state.is === "pending") return "pending";
  }
  return "ready";
}

function isConditional({ bindingConditions = [] }: DeviceRequestAllocationResult): boolean {
  return bindingConditions.length > 0;
}

function isSameDevice(
  { driver, pool, device }: AllocatedDeviceStatus,
  result: DeviceRequestAllocationResult,
): boolean {
  return driver === result.driver && pool === result.pool && device === result.device;
}

function trueCondition({ conditions }: AllocatedDeviceStatus, type: string) {
  return (conditions ?? []).find((one) => one.type === type && one.status === "True");
}
