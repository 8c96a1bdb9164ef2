/** What the source of a volume means where it says nothing. */

import type {
  DownwardAPIVolumeFile,
  ProjectedVolumeSource,
  Volume,
} from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";
import { roundToMillis } from "#api/kinds/core/v1/resources/round-resources.ts";
import { defaultPullPolicy } from "../containers/image-tag.ts";

const FILE_MODE = 0o644;
const TOKEN_SECONDS = 60 * 60;

export function defaultVolume(volume: Draft<Volume>): void {
  if (hasNoSource(volume)) volume.emptyDir = {};
  const { hostPath, secret, configMap, downwardAPI, projected, image } = volume;
  if (hostPath !== undefined) hostPath.type ??= "";
  if (secret !== undefined) secret.defaultMode ??= FILE_MODE;
  if (configMap !== undefined) configMap.defaultMode ??= FILE_MODE;
  if (downwardAPI !== undefined) {
    downwardAPI.defaultMode ??= FILE_MODE;
    defaultFieldRefs(downwardAPI.items);
  }
  if (projected !== undefined) defaultProjected(projected);
  if (image !== undefined) image.pullPolicy ||= defaultPullPolicy(image.reference ?? "");
  defaultClaimTemplate(volume);
  defaultDisk(volume);
}

function hasNoSource(volume: Draft<Volume>): boolean {
  for (const key of Object.keys(volume)) {
    if (key !== "name" && volume[key as keyof Volume] !== undefined) return false;
  }
  return true;
}

function defaultProjected(projected: Draft<ProjectedVolumeSource>): void {
  projected.defaultMode ??= FILE_MODE;
  for (const { downwardAPI, serviceAccountToken } of projected.sources ?? []) {
    defaultFieldRefs(downwardAPI?.items);
    if (serviceAccountToken !== undefined) serviceAccountToken.expirationSeconds ??= TOKEN_SECONDS;
  }
}

function defaultFieldRefs(files: Draft<DownwardAPIVolumeFile>[] | undefined): void {
  for (const { fieldRef } of files ?? []) {
    if (fieldRef !== undefined) fieldRef.apiVersion ||= "v1";
  }
}

function defaultClaimTemplate({ ephemeral }: Draft<Volume>): void {
  const spec = ephemeral?.volumeClaimTemplate?.spec;
  if (spec === undefined) return;
  spec.volumeMode ??= "Filesystem";
  roundToMillis(spec.resources?.limits);
  roundToMillis(spec.resources?.requests);
}

/** Also of persistent volumes, which have these sources too. */
export function defaultDisk({
  iscsi,
  rbd,
  azureDisk,
  scaleIO,
}: Draft<Pick<Volume, "iscsi" | "rbd" | "azureDisk">> & {
  scaleIO?: { storageMode?: string; fsType?: string };
}): void {
  if (iscsi !== undefined) iscsi.iscsiInterface ||= "default";
  if (rbd !== undefined) {
    rbd.pool ||= "rbd";
    rbd.user ||= "admin";
    rbd.keyring ||= "/etc/ceph/keyring";
  }
  if (azureDisk !== undefined) {
    azureDisk.cachingMode ??= "ReadWrite";
    azureDisk.fsType ??= "ext4";
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= "Shared";
  }
  if (scaleIO !== undefined) {
    scaleIO.storageMode ||= "ThinProvisioned";
    scaleIO.fsType ||= "xfs";
  }
}
