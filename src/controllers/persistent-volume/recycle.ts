/**
 * Recycling, the oldest way to use a volume again: a pod empties it, then anybody may claim it.
 * Only directories of nodes and NFS shares can be recycled.
 */
import { podKind } from "#api/core/v1/pod.ts";
import type { PersistentVolume, Pod, Volume } from "#api/generated/core.v1.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";
import type { Write } from "#runtime/writes.ts";
import { create, remove } from "#runtime/writes.ts";
import { isFinished } from "../pods.ts";

const NAMESPACE = "default";
const NAME_PREFIX = "recycler-for-";
const GIB = 1024 ** 3;
const SECONDS_PER_GIB = 30;
const SECONDS_MIN = { hostPath: 60, nfs: 300 };
const CONTAINER = {
  name: "pv-recycler",
  image: "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6",
  command: ["/bin/sh"],
  args: [
    "-c",
    'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1',
  ],
};
const VOLUME = "vol";
const MOUNT_PATH = "/scrub";

/** Where the pod that empties a volume is to be found. */
export function recyclerOf(volumeName: string): { namespace: string; name: string } {
  return { namespace: NAMESPACE, name: NAME_PREFIX + volumeName };
}

/** The volume that a pod empties, by its name. */
export function recycledBy({ metadata: { namespace, name = "" } }: Pod): string | undefined {
  if (namespace !== NAMESPACE || !name.startsWith(NAME_PREFIX)) return undefined;
  return name.slice(NAME_PREFIX.length);
}

/** How far it is: `waiting` after the writes, emptied, or in vain. */
export type Recycling =
  | { readonly step: "waiting"; readonly writes: readonly Write[] }
  | { readonly step: "emptied"; readonly writes: readonly Write[] }
  | { readonly step: "failed"; readonly writes: readonly Write[]; readonly why: string };

export function recycle(volume: PersistentVolume, recycler: Pod | undefined): Recycling {
  const wanted = recyclerPod(volume);
  if (wanted === undefined)
    return { step: "failed", writes: [], why: "No recycler plugin found for the volume!" };
  if (recycler === undefined) return { step: "waiting", writes: [create(podKind, wanted)] };
  if (recycler.metadata.deletionTimestamp !== undefined) return { step: "waiting", writes: [] };
  // It goes before the volume is free: one that stays would vouch for the next time, too.
  const writes = [remove(podKind, recycler)];
  if (!isTrusted(recycler, wanted, volume)) return { step: "waiting", writes };
  if (!isFinished(recycler)) return { step: "waiting", writes: [] };
  if (recycler.status.phase === "Succeeded") return { step: "emptied", writes };
  const why = recycler.status.message || "pod failed, pod.Status.Message unknown";
  return { step: "failed", writes, why: `Recycle failed: failed to recycle volume: ${why}` };
}

function recyclerPod({ metadata: { name = "" }, spec }: PersistentVolume): Pod | undefined {
  const { hostPath, nfs } = spec;
  const source = hostPath !== undefined ? { hostPath: { path: hostPath.path } } : nfs && { nfs };
  if (source === undefined) return undefined;
  const size = quantityValue(quantityOf(spec.capacity?.storage ?? "0"));
  const secondsMin = hostPath === undefined ? SECONDS_MIN.nfs : SECONDS_MIN.hostPath;
  return {
    metadata: recyclerOf(name),
    spec: {
      activeDeadlineSeconds: Math.max(Math.floor(size / GIB) * SECONDS_PER_GIB, secondsMin),
      restartPolicy: "Never",
      volumes: [{ name: VOLUME, ...source }],
      containers: [
        { ...CONTAINER, resources: {}, volumeMounts: [{ name: VOLUME, mountPath: MOUNT_PATH }] },
      ],
    },
    status: {},
  };
}

/** Others may make a pod of that name: one that does something else, or that ran too early. */
function isTrusted(pod: Pod, wanted: Pod, { status }: PersistentVolume): boolean {
  const since = status.lastPhaseTransitionTime ?? "";
  return (pod.metadata.creationTimestamp ?? "") >= since && workOf(pod) === workOf(wanted);
}

function workOf({ spec }: Pod): string {
  const { containers, initContainers = [], ephemeralContainers = [], volumes = [] } = spec;
  const work = (containers ?? []).map(({ image, command, args, volumeMounts = [] }) => {
    const mounts = volumeMounts.filter(({ mountPath }) => mountPath.startsWith(MOUNT_PATH));
    return [
      image,
      command,
      args,
      mounts.map(({ name, mountPath, subPath }) => [name, mountPath, subPath]),
    ];
  });
  const emptied = volumes.find(({ name }) => name === VOLUME);
  return JSON.stringify([
    work,
    placeOf(emptied),
    initContainers.length,
    ephemeralContainers.length,
  ]);
}

function placeOf(volume: Volume | undefined): readonly unknown[] {
  return [volume?.hostPath?.path, volume?.nfs?.server, volume?.nfs?.path, volume?.nfs?.readOnly];
}
