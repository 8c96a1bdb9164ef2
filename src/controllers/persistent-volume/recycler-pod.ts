/** The pod that empties a volume: how it is made, and whether one that is there can be believed. */
import type { Container, PersistentVolume, Pod, PodSpec, Volume } from "#api/generated/core.v1.ts";
import { quantityOf, quantityValue } from "#api/meta/quantity.ts";

/** How volumes of one sort are emptied. */
export interface RecyclerSettings {
  /** Its first volume becomes the one to be emptied. */
  readonly template: Pick<Pod, "metadata" | "spec">;
  readonly secondsMin: number;
  readonly secondsPerGib: number;
}

/** Only directories of nodes and NFS shares can be recycled. */
export interface Recyclers {
  readonly hostPath: RecyclerSettings;
  readonly nfs: RecyclerSettings;
}

const NAME_PREFIX = "recycler-for-";
const GIB = 1024 ** 3;
/** Where every pod finds the token of its account: admission mounts it. */
const ACCOUNT_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

const SPEC: PodSpec = {
  restartPolicy: "Never",
  volumes: [{ name: "vol" }],
  containers: [
    {
      name: "pv-recycler",
      image: "registry.k8s.io/build-image/debian-base:bookworm-v1.0.6",
      command: ["/bin/sh"],
      args: [
        "-c",
        'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1',
      ],
      resources: {},
      volumeMounts: [{ name: "vol", mountPath: "/scrub" }],
    },
  ],
};

export const RECYCLER_TEMPLATE: RecyclerSettings["template"] = {
  metadata: { namespace: "default" },
  spec: SPEC,
};

export const DEFAULT_RECYCLERS: Recyclers = {
  hostPath: { template: RECYCLER_TEMPLATE, secondsMin: 60, secondsPerGib: 30 },
  nfs: { template: RECYCLER_TEMPLATE, secondsMin: 300, secondsPerGib: 30 },
};

/** Undefined if volumes of its sort cannot be recycled. */
export function recyclerPod(volume: PersistentVolume, recyclers: Recyclers): Pod | undefined {
  const { hostPath, nfs } = volume.spec;
  if (hostPath !== undefined)
    return podFrom(recyclers.hostPath, volume, { hostPath: { path: hostPath.path } });
  if (nfs === undefined) return undefined;
  return podFrom(recyclers.nfs, volume, { nfs: { server: nfs.server, path: nfs.path } });
}

/** The volume that a pod empties, by its name. */
export function recycledBy({ metadata: { name = "" } }: Pod): string | undefined {
  return name.startsWith(NAME_PREFIX) ? name.slice(NAME_PREFIX.length) : undefined;
}

/** Others may make a pod of that name: one that does something else, or that ran too early. */
export function isTrusted(pod: Pod, wanted: Pod, { status }: PersistentVolume): boolean {
  const since = status.lastPhaseTransitionTime ?? "";
  return (pod.metadata.creationTimestamp ?? "") >= since && workOf(pod) === workOf(wanted);
}

function podFrom(
  { template, secondsMin, secondsPerGib }: RecyclerSettings,
  { metadata: { name = "" }, spec: { capacity } }: PersistentVolume,
  source: Partial<Volume>,
): Pod {
  const { generateName: _, namespace = "default", ...metadata } = template.metadata;
  const [emptied, ...others] = template.spec.volumes ?? [];
  const gibs = Math.floor(quantityValue(quantityOf(capacity?.storage ?? "0")) / GIB);
  return {
    metadata: { ...metadata, namespace, name: NAME_PREFIX + name },
    spec: {
      ...template.spec,
      activeDeadlineSeconds: Math.max(gibs * secondsPerGib, secondsMin),
      volumes: [{ name: emptied?.name ?? "vol", ...source }, ...others],
    },
    status: {},
  };
}

function workOf({ spec }: Pod): string {
  const { containers, initContainers = [], ephemeralContainers = [], volumes = [] } = spec;
  return JSON.stringify([
    (containers ?? []).map(stepOf),
    initContainers.map(stepOf),
    ephemeralContainers.length,
    placeOf(volumes[0]),
  ]);
}

function stepOf({ image, command, args, volumeMounts = [] }: Container): readonly unknown[] {
  const mounts = volumeMounts.filter(({ mountPath }) => mountPath !== ACCOUNT_MOUNT);
  const places = mounts.map(({ name, mountPath, subPath }) => [name, mountPath, subPath]);
  return [image, command, args, places];
}

function placeOf({ name, hostPath, nfs }: Partial<Volume> = {}): readonly unknown[] {
  return [name, hostPath?.path, nfs?.server, nfs?.path, nfs?.readOnly];
}
