/** Which in-tree volumes count as volumes of a CSI driver, and where such volumes can be reached. */
import type { Node, PersistentVolume, VolumeNodeAffinity } from "#api/generated/core.v1.ts";
import type { CSINode } from "#api/generated/storage.v1.ts";
import { matchesNodeSelectorTerm } from "#api/kinds/core/v1/node/node-selection.ts";
import {
  migratedPluginOf,
  translatePersistentVolume,
} from "#api/kinds/core/v1/persistent-volume/csi-migration.ts";

const MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins";

/** Upstream's scheduler does not translate the other two: Azure File and vSphere. */
const TRANSLATED: ReadonlySet<string> = new Set([
  "kubernetes.io/aws-ebs",
  "kubernetes.io/azure-disk",
  "kubernetes.io/cinder",
  "kubernetes.io/gce-pd",
  "kubernetes.io/portworx-volume",
]);

export function isTranslated(plugin: string): boolean {
  return TRANSLATED.has(plugin);
}

/** The in-tree plugins that the node's kubelet leaves to CSI drivers, as one text. */
export function migratedPluginsOn({ metadata }: CSINode): string {
  return metadata.annotations?.[MIGRATED_PLUGINS] ?? "";
}

/**
 * Whether the node can use the volume. Node affinity of an in-tree volume is asked in the labels of
 * the driver if the node has migrated the plugin.
 */
export function isReachable(
  volume: PersistentVolume,
  { metadata }: Node,
  csiNode: CSINode | undefined,
): boolean {
  return matchesAffinity(nodeAffinityOn(volume, csiNode), { metadata });
}

/** Only labels count: upstream does not know the name of the node here. */
export function matchesAffinity(
  affinity: VolumeNodeAffinity | undefined,
  { metadata }: Pick<Node, "metadata">,
): boolean {
  const required = affinity?.required;
  if (required === undefined) return true;
  const { labels = {} } = metadata;
  return (required.nodeSelectorTerms ?? []).some((term) =>
    matchesNodeSelectorTerm(term, { metadata: { labels } }),
  );
}

function nodeAffinityOn(
  volume: PersistentVolume,
  csiNode: CSINode | undefined,
): VolumeNodeAffinity | undefined {
  const plugin = migratedPluginOf(volume.spec);
  const isMigrated =
    plugin !== undefined &&
    isTranslated(plugin) &&
    csiNode !== undefined &&
    migratedPluginsOn(csiNode).split(",").includes(plugin);
  if (!isMigrated) return volume.spec.nodeAffinity;
  const result = translatePersistentVolume(volume);
  if (!result.ok) throw new Error(`could not translate pv: ${result.error}`);
  return result.volume.nodeAffinity;
}
