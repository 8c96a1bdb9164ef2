/** What is measured of volumes and claims. */

import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import type { Measure } from "#runtime/controller.ts";
import { objectsOf, tallied } from "./common.ts";

const SOURCES: Readonly<Record<string, string>> = {
  hostPath: "kubernetes.io/host-path",
  nfs: "kubernetes.io/nfs",
  local: "kubernetes.io/local-volume",
  iscsi: "kubernetes.io/iscsi",
  fc: "kubernetes.io/fc",
};

/** Of the binder's state: the claim that it looks at, if it is one. */
type Looked = { readonly of: string; readonly state: object } | undefined;

export const measureVolumes: Measure<Looked> = (metrics, caches) => {
  const gauges = (
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly string[]>,
  ): void =>
    metrics.gaugesOf({ name: `pv_collector_${name}`, help, labels }, () => tallied(read()));
  const volumes = (): PersistentVolume[] => [...caches(persistentVolumeKind).list()];
  const claims = (): PersistentVolumeClaim[] => [...caches(persistentVolumeClaimKind).list()];
  gauges("total_pv_count", "Volumes.", ["plugin_name", "volume_mode"], () =>
    volumes().map((volume) => [pluginOf(volume), volume.spec.volumeMode ?? "Filesystem"]),
  );
  const ofClass = (isBound: boolean) => () =>
    volumes()
      .filter(({ status }) => (status.phase === "Bound") === isBound)
      .map(({ spec }) => [spec.storageClassName ?? ""]);
  gauges("bound_pv_count", "Volumes that a claim has.", ["storage_class"], ofClass(true));
  gauges("unbound_pv_count", "Volumes that no claim has.", ["storage_class"], ofClass(false));
  const labels = ["namespace", "storage_class", "volume_attributes_class"];
  const ofPlace = (isBound: boolean) => () =>
    claims()
      .filter(({ status }) => (status.phase === "Bound") === isBound)
      .map(({ metadata, spec }) => [
        metadata.namespace ?? "",
        spec.storageClassName ?? "",
        spec.volumeAttributesClassName ?? "",
      ]);
  gauges("bound_pvc_count", "Claims that have a volume.", labels, ofPlace(true));
  gauges("unbound_pvc_count", "Claims that have none.", labels, ofPlace(false));
  const counter = (name: string, help: string) =>
    metrics.counter({ name: `retroactive_storageclass_${name}`, help })();
  const given = counter("total", "Claims that were given the default class later.");
  const failed = counter("errors_total", "Claims that could not be given it.");
  return ({ state, outcome, refused }) => {
    const { claim } = (state?.state ?? {}) as { readonly claim?: PersistentVolumeClaim };
    if (state?.of !== "claim" || claim?.spec.storageClassName !== undefined) return;
    const written = objectsOf(outcome, "update", persistentVolumeClaimKind);
    if (!written.some(({ spec }) => spec.storageClassName !== undefined)) return;
    given.add(1);
    if (refused !== undefined) failed.add(1);
  };
};

export const measureEphemeralVolumes: Measure<unknown> = (metrics) => {
  const counter = (name: string, help: string) =>
    metrics.counter({ name: `ephemeral_volume_controller_${name}`, help })();
  const tried = counter("create_total", "Claims for ephemeral volumes that were to be made.");
  const failed = counter("create_failures_total", "Those of them that could not be made.");
  return ({ outcome, refused, done }) => {
    const wanted = objectsOf(outcome, "create", persistentVolumeClaimKind).length;
    tried.add(refused === undefined ? wanted : Math.min(wanted, done + 1));
    if (refused !== undefined) failed.add(1);
  };
};

/** As upstream calls what knows how to mount it. */
function pluginOf({ spec }: PersistentVolume): string {
  if (spec.csi !== undefined) return `kubernetes.io/csi:${spec.csi.driver}`;
  const source = Object.keys(SOURCES).find((name) => Object.hasOwn(spec, name));
  return source === undefined ? "N/A" : SOURCES[source]!;
}
