/**
 * Keeps pods off nodes where a disk that allows one user is in use, and keeps a second pod from a
 * claim with the access mode ReadWriteOncePod.
 */
import type { Pod, Volume } from "#api/generated/core.v1.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  rejected,
  SKIP,
  unresolvable,
} from "#scheduler/plugin.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";
import { claimRefsOf, usesClaim } from "./pod-claims.ts";

const DISK_CONFLICT = rejected("node(s) had no available disk");
const ONE_POD = rejected(
  "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
);

interface State {
  readonly disks: readonly Volume[];
  readonly exclusiveClaims: ReadonlySet<string>;
  /** Pods that use one of these claims. */
  users: number;
}

export const volumeRestrictions: PluginFactory = {
  name: "VolumeRestrictions",
  create: (_args, handle) =>
    definePlugin<State, undefined>({
      name: "VolumeRestrictions",
      preFilter: (pod) => {
        const exclusive = exclusiveClaimsOf(pod, handle);
        if (typeof exclusive === "string") return unresolvable(exclusive);
        const disks = (pod.pod.spec.volumes ?? []).filter(isExclusiveDisk);
        const users = exclusive.size === 0 ? 0 : usersOf(pod, exclusive, handle);
        if (disks.length === 0 && users === 0) return SKIP;
        return { skip: false, state: { disks, exclusiveClaims: exclusive, users } };
      },
      filter: ({ disks, users }, _pod, node) => {
        if (disks.length > 0) {
          for (const { pod } of node.pods.values()) {
            if (disks.some((disk) => conflicts(disk, pod))) return DISK_CONFLICT;
          }
        }
        return users > 0 ? ONE_POD : FITS;
      },
      copyState: (state) => ({ ...state }),
      podAdded: (state, pod, added) => {
        state.users += usesOf(added, pod, state.exclusiveClaims);
      },
      podRemoved: (state, pod, removed) => {
        state.users -= usesOf(removed, pod, state.exclusiveClaims);
      },
      wakeOn: [
        { event: "pod-deleted", wakes: ({ pod }, deleted) => mayFree(pod, deleted) },
        { event: "node-added" },
        {
          event: "claim-added",
          wakes: ({ pod }, { metadata }) => usesClaim(pod, metadata.namespace, metadata.name),
        },
      ],
    }),
};

/** The pod's claims that only one pod may use, or what is wrong with them. */
function exclusiveClaimsOf({ pod, namespace }: PodInfo, { objects }: Handle): Set<string> | string {
  const names = new Set<string>();
  for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue;
    const { claimName } = persistentVolumeClaim;
    const claim = objects.claims.get(namespace, claimName);
    if (claim === undefined) return `persistentvolumeclaim "${claimName}" not found`;
    if (claim.spec.accessModes?.includes("ReadWriteOncePod")) names.add(claimName);
  }
  return names;
}

/** How many of the claims are used by pods that have a node. */
function usersOf(pod: PodInfo, claims: ReadonlySet<string>, { snapshot }: Handle): number {
  const used = new Set<string>();
  for (const node of snapshot.nodes) {
    for (const other of node.pods.values()) {
      if (other.namespace !== pod.namespace) continue;
      for (const { name } of claimRefsOf(other.pod)) if (claims.has(name)) used.add(name);
    }
  }
  return used.size;
}

function usesOf(other: PodInfo, pod: PodInfo, claims: ReadonlySet<string>): number {
  if (other.namespace !== pod.namespace) return 0;
  return claimRefsOf(other.pod).filter(({ name }) => claims.has(name)).length;
}

function isExclusiveDisk({ gcePersistentDisk, awsElasticBlockStore, rbd, iscsi }: Volume): boolean {
  return [gcePersistentDisk, awsElasticBlockStore, rbd, iscsi].some(
    (source) => source !== undefined,
  );
}

function conflicts(disk: Volume, { spec }: Pod): boolean {
  return (spec.volumes ?? []).some((other) => {
    const isShared = (a?: { readOnly?: boolean }, b?: { readOnly?: boolean }): boolean =>
      a?.readOnly === true && b?.readOnly === true;
    const [gce, otherGce] = [disk.gcePersistentDisk, other.gcePersistentDisk];
    if (gce && otherGce && gce.pdName === otherGce.pdName && !isShared(gce, otherGce)) return true;
    const [ebs, otherEbs] = [disk.awsElasticBlockStore, other.awsElasticBlockStore];
    if (ebs && otherEbs && ebs.volumeID === otherEbs.volumeID) return true;
    const [iscsi, otherIscsi] = [disk.iscsi, other.iscsi];
    if (iscsi && otherIscsi && iscsi.iqn === otherIscsi.iqn && !isShared(iscsi, otherIscsi))
      return true;
    const [rbd, otherRbd] = [disk.rbd, other.rbd];
    if (rbd === undefined || otherRbd === undefined || isShared(rbd, otherRbd)) return false;
    const monitors = new Set(otherRbd.monitors ?? []);
    const isSame = rbd.pool === otherRbd.pool && rbd.image === otherRbd.image;
    return isSame && (rbd.monitors ?? []).some((monitor) => monitors.has(monitor));
  });
}

function mayFree(pod: Pod, deleted: Pod): boolean {
  if ((pod.spec.volumes ?? []).filter(isExclusiveDisk).some((disk) => conflicts(disk, deleted)))
    return true;
  return claimRefsOf(deleted).some(({ name }) => usesClaim(pod, deleted.metadata.namespace, name));
}
