/** Keeps pods off nodes whose CSI drivers have attached as many volumes as they can. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { CSINode, VolumeAttachment } from "#api/generated/storage.v1.ts";
import {
  MIGRATED_DRIVERS,
  migratedPluginOf,
} from "#api/kinds/core/v1/persistent-volume/csi-migration.ts";
import {
  definePlugin,
  FITS,
  type Handle,
  type PluginFactory,
  rejected,
  SKIP,
  unresolvable,
  type Verdict,
} from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import {
  type AttachableVolumes,
  attachableVolumes,
  ClaimNotFound,
  mayAttachVolumes,
  uniqueName,
} from "./attachable-volumes.ts";
import { usesClaim } from "./pod-claims.ts";

/** The index of VolumeAttachments by the node. */
export const ATTACHMENTS_BY_NODE = "node";

export function nodeOfAttachment({ spec }: VolumeAttachment): readonly string[] {
  return [spec.nodeName];
}

const EXCEEDED = rejected("node(s) exceed max volume count");

/** The pod's volumes on nodes with a CSINode and on those without. */
interface State {
  readonly volumesOn: Map<boolean, AttachableVolumes | Verdict>;
}

export const nodeVolumeLimits: PluginFactory = {
  name: "NodeVolumeLimits",
  create: (_args, handle) =>
    definePlugin<State, undefined>({
      name: "NodeVolumeLimits",
      preFilter: ({ pod }) =>
        mayAttachVolumes(pod) ? { skip: false, state: { volumesOn: new Map() } } : SKIP,
      filter: (state, { pod }, node) => {
        const csiNode = handle.objects.csiNodes.get(undefined, node.name);
        const volumes = volumesOn(csiNode, state, pod, handle);
        if ("fits" in volumes) return volumes;
        const limits = limitsOf(csiNode);
        if (volumes.size === 0 || limits.size === 0) return FITS;
        return fitsLimits(volumes, limits, node, handle) ? FITS : EXCEEDED;
      },
      wakeOn: [
        { event: "csi-node-added" },
        { event: "csi-node-changed", wakes: (_pod, next, old) => hasHigherLimit(next, old) },
        { event: "pod-deleted", wakes: (_pod, deleted) => mayAttachVolumes(deleted) },
        {
          event: "claim-added",
          wakes: ({ pod }, { metadata }) => usesClaim(pod, metadata.namespace, metadata.name),
        },
        {
          event: "volume-attachment-deleted",
          wakes: ({ pod }, attachment) => mayUseAttachment(pod, attachment),
        },
      ],
    }),
};

function volumesOn(
  csiNode: CSINode | undefined,
  { volumesOn: known }: State,
  pod: Pod,
  { objects }: Handle,
): AttachableVolumes | Verdict {
  const hasCsiNode = csiNode !== undefined;
  let volumes = known.get(hasCsiNode);
  if (volumes === undefined) {
    try {
      volumes = attachableVolumes(pod, objects, { hasCsiNode, isNew: true });
    } catch (error) {
      if (!(error instanceof ClaimNotFound)) throw error;
      volumes = unresolvable(error.message);
    }
    known.set(hasCsiNode, volumes);
  }
  return volumes;
}

function limitsOf(csiNode: CSINode | undefined): ReadonlyMap<string, number> {
  const limits = new Map<string, number>();
  for (const { name, allocatable } of csiNode?.spec.drivers ?? []) {
    if (allocatable?.count !== undefined) limits.set(name, allocatable.count);
  }
  return limits;
}

function fitsLimits(
  volumes: AttachableVolumes,
  limits: ReadonlyMap<string, number>,
  node: NodeInfo,
  { objects }: Handle,
): boolean {
  const attached = new Map<string, string>();
  for (const { pod } of node.pods.values()) {
    if ((pod.spec.volumes ?? []).length === 0) continue;
    const its = attachableVolumes(pod, objects, { hasCsiNode: true, isNew: false });
    for (const [volume, driver] of its) attached.set(volume, driver);
  }
  const added = [...volumes].filter(([volume]) => !attached.has(volume));
  for (const { spec } of objects.volumeAttachments.byIndex(ATTACHMENTS_BY_NODE, node.name)) {
    const volume = objects.volumes.get(undefined, spec.source.persistentVolumeName ?? "");
    const csi = volume?.spec.csi;
    if (csi === undefined || spec.attacher === "") continue;
    attached.set(uniqueName(spec.attacher, csi.volumeHandle), spec.attacher);
  }
  for (const driver of new Set(added.map(([, name]) => name))) {
    const limit = limits.get(driver);
    if (limit === undefined) continue;
    const isOurs = (name: string): boolean => name === driver;
    const count = [...attached.values()].filter(isOurs).length;
    if (count + added.filter(([, name]) => isOurs(name)).length > limit) return false;
  }
  return true;
}

/** A driver without a limit counts as one that attaches nothing. */
function hasHigherLimit(next: CSINode, old: CSINode | undefined): boolean {
  const before = limitsOf(old);
  return [...limitsOf(next)].some(([driver, limit]) => limit > (before.get(driver) ?? 0));
}

function mayUseAttachment({ spec }: Pod, { spec: { attacher } }: VolumeAttachment): boolean {
  return (spec.volumes ?? []).some(
    (volume) =>
      volume.persistentVolumeClaim !== undefined ||
      MIGRATED_DRIVERS.get(migratedPluginOf(volume) ?? "") === attacher,
  );
}
