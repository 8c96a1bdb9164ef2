/** A persistent volume is mounted only on the nodes that it can be reached from. */
import type { Node, PersistentVolume } from "#api/generated/core.v1.ts";
import { matchesNodeSelectorTerm } from "#api/kinds/core/v1/node/node-selection.ts";
import { VolumeError } from "./volume-plugin.ts";

/** Throws VolumeError if the volume is for other nodes. A node that is not known yet is not checked. */
export function requireNodeAffinity(
  volume: PersistentVolume | undefined,
  node: Node | undefined,
): void {
  const required = volume?.spec.nodeAffinity?.required;
  if (required === undefined || node === undefined) return;
  const terms = required.nodeSelectorTerms ?? [];
  // By labels only, as in upstream: no term is about the name of the node.
  const { labels = {} } = node.metadata;
  if (terms.some((term) => matchesNodeSelectorTerm(term, { metadata: { labels } }))) return;
  const operation =
    volume?.spec.volumeMode === "Block"
      ? "MapVolume.NodeAffinity check"
      : "MountVolume.NodeAffinity check";
  throw new VolumeError("no matching NodeSelectorTerms", operation);
}
