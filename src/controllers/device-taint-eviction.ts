/**
 * Deletes pods that use a device which its driver has tainted so that nothing may use it, unless the
 * pod's claim tolerates that, or for as long as it does.
 */

import type { Pod } from "#api/generated/core.v1.ts";
import type {
  DeviceTaint,
  DeviceToleration,
  ResourceClaim,
  ResourceSlice,
} from "#api/generated/resource.v1.ts";
import { tolerates } from "#api/kinds/core/v1/node/tolerates.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceClaimKind } from "#api/kinds/resource/v1/resource-claim.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import {
  type Caches,
  defineController,
  type EventNote,
  type IndexSpec,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { patch, remove } from "#runtime/writes.ts";
import { claimNamesOf, claimsOf, podsByResourceClaim } from "./resource-claim/pod-claims.ts";
import { foundByName } from "./shared/found-by-name.ts";

export interface DeviceEvictionState {
  readonly key: Key;
  readonly pod: Pod | undefined;
  /** Devices that the pod uses and that are tainted. */
  readonly devices: readonly TaintedDevice[];
  readonly scheduled: Scheduled | undefined;
}

export interface TaintedDevice {
  readonly taints: readonly DeviceTaint[];
  readonly tolerations: readonly DeviceToleration[];
}

interface Scheduled {
  readonly uid: string | undefined;
}

const slicesByPool: IndexSpec<ResourceSlice> = {
  kind: resourceSliceKind,
  name: "pool",
  values: ({ spec }) => [poolId(spec.driver, spec.pool.name)],
};

const claimsByPool: IndexSpec<ResourceClaim> = {
  kind: resourceClaimKind,
  name: "pool",
  values: ({ status }) => [
    ...new Set(
      (status.allocation?.devices.results ?? []).map(({ driver, pool }) => poolId(driver, pool)),
    ),
  ],
};

export const deviceTaintEviction = defineController<DeviceEvictionState, Scheduled>({
  name: "device-taint-eviction-controller",
  rule: "a pod whose device has a NoExecute taint that is not tolerated is deleted",
  workers: 8,
  feeds: [
    { kind: podKind, keys: (pod: Pod) => (pod.spec.resourceClaims?.length ? ownKey(pod) : []) },
    { kind: resourceClaimKind, keys: keysOfClaim },
    { kind: resourceSliceKind, keys: keysOfSlice },
  ],
  indexes: [slicesByPool, claimsByPool, podsByResourceClaim],
  observe(caches, key, _reader, scheduled) {
    const pod = caches(podKind).get(key.namespace, key.name);
    const devices = pod === undefined ? [] : taintedDevices(pod, caches);
    return { key, pod, devices, scheduled };
  },
  decide,
});

function poolId(driver: string, pool: string): string {
  return `${driver}/${pool}`;
}

function keysOfClaim({ metadata: { namespace, name } }: ResourceClaim, caches: Caches) {
  const users = caches(podKind).byIndex(podsByResourceClaim.name, `${namespace}/${name}`);
  return [...users].flatMap(ownKey);
}

function keysOfSlice({ spec }: ResourceSlice, caches: Caches): readonly Key[] {
  const id = poolId(spec.driver, spec.pool.name);
  const claims = [...caches(resourceClaimKind).byIndex(claimsByPool.name, id)];
  return claims.flatMap((claim) => keysOfClaim(claim, caches));
}

/** A pod that has no node uses nothing, and none uses what is not reserved for it. */
function taintedDevices(pod: Pod, caches: Caches): readonly TaintedDevice[] {
  if (!pod.spec.nodeName) return [];
  const { namespace, uid } = pod.metadata;
  return claimsOf(pod, foundByName(caches, resourceClaimKind, namespace, claimNamesOf(pod)))
    .filter(({ status }) => status.reservedFor?.some((consumer) => consumer.uid === uid))
    .flatMap(({ status }) => status.allocation?.devices.results ?? [])
    .map(({ driver, pool, device, tolerations = [] }) => {
      const slices = caches(resourceSliceKind).byIndex(slicesByPool.name, poolId(driver, pool));
      return { taints: taintsOf(device, [...slices]), tolerations };
    })
    .filter(({ taints }) => taints.length > 0);
}

/** Only the newest generation of a pool counts. */
function taintsOf(device: string, slices: readonly ResourceSlice[]): readonly DeviceTaint[] {
  const newest = Math.max(...slices.map(({ spec }) => spec.pool.generation));
  return slices
    .filter(({ spec }) => spec.pool.generation === newest)
    .flatMap(({ spec }) => spec.devices ?? [])
    .filter(({ name }) => name === device)
    .flatMap(({ taints = [] }) => taints)
    .filter(({ effect }) => effect === "NoExecute");
}

function decide(
  { key, pod, devices, scheduled }: DeviceEvictionState,
  nowMs: number,
): Outcome<Scheduled> {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) {
    return { remember: undefined };
  }
  const { uid } = pod.metadata;
  const dueMs = evictionMs(devices, nowMs);
  if (dueMs === undefined) {
    if (scheduled?.uid !== uid || uid === undefined) return idle;
    return { events: [note(key, pod, "Cancelling deletion")], remember: undefined };
  }
  if (nowMs < dueMs) return { remember: { uid }, recheckInMs: dueMs - nowMs };
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "DeletionByDeviceTaintManager",
    message: "Device Taint manager: deleting due to NoExecute taint",
    lastTransitionTime: timeFromMs(nowMs),
  };
  return {
    events: [note(key, pod, "Marking for deletion")],
    writes: [
      patch(podKind, pod, "strategic", { status: { conditions: [condition] } }, "status"),
      remove(podKind, pod),
    ],
    remember: undefined,
  };
}

/** When the pod has to go, by the most pressing taint; undefined if it may stay. */
function evictionMs(devices: readonly TaintedDevice[], nowMs: number): number | undefined {
  const times = devices.flatMap(({ taints, tolerations }) =>
    taints.flatMap((taint) => {
      const sinceMs = taint.timeAdded ? timeToMs(taint.timeAdded) : nowMs;
      const covering = tolerations.filter(
        (toleration) => toleration.effect === "NoExecute" && tolerates(toleration, taint),
      );
      if (covering.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return [];
      const seconds = covering.map(({ tolerationSeconds = 0 }) => Math.max(0, tolerationSeconds));
      return [sinceMs + (seconds.length === 0 ? 0 : Math.min(...seconds)) * 1000];
    }),
  );
  return times.length === 0 ? undefined : Math.min(...times);
}

function note({ namespace = "", name }: Key, { metadata }: Pod, message: string): EventNote {
  const { uid = "" } = metadata;
  return {
    about: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
    type: "Normal",
    reason: "DeviceTaintManagerEviction",
    message,
  };
}
