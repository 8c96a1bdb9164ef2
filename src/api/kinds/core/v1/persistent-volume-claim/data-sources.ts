/** dataSource and dataSourceRef are equivalent: if one is set, the other is defaulted from it. */
import type { PersistentVolumeClaimSpec } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";

/** What a claim could be filled from before there was dataSourceRef. */
const OLD_SOURCES = ["/PersistentVolumeClaim", "snapshot.storage.k8s.io/VolumeSnapshot"];

export function prepareDataSources(
  spec: Draft<PersistentVolumeClaimSpec>,
  old: PersistentVolumeClaimSpec | undefined,
): void {
  // Sources of another namespace are not available, unless they were once.
  if (spec.dataSourceRef?.namespace && old?.dataSourceRef === undefined) delete spec.dataSourceRef;
  dropUnknownSource(spec, old);
  alignDataSources(spec);
}

/** Fills in the one that is missing. */
export function alignDataSources(spec: Draft<PersistentVolumeClaimSpec>): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined && dataSourceRef === undefined) {
    const { apiGroup, kind, name } = dataSource;
    spec.dataSourceRef = { apiGroup, kind, name };
  } else if (dataSourceRef !== undefined && dataSource === undefined && !dataSourceRef.namespace) {
    const { apiGroup, kind, name } = dataSourceRef;
    spec.dataSource = { apiGroup, kind, name };
  }
}

/** Older clients rely on it that a dataSource of a kind unknown to them is as good as none. */
function dropUnknownSource(
  spec: Draft<PersistentVolumeClaimSpec>,
  old: PersistentVolumeClaimSpec | undefined,
): void {
  if (old?.dataSource !== undefined || old?.dataSourceRef !== undefined) return;
  if (spec.dataSourceRef !== undefined || spec.dataSource === undefined) return;
  const { apiGroup, kind } = spec.dataSource;
  if (!OLD_SOURCES.includes(`${apiGroup ?? ""}/${kind}`)) delete spec.dataSource;
}
