/**
 * Provisioners that Kubernetes once brought along: most of them are drivers of their own today and
 * known under another name; what is left of the others can only say what it cannot do.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { MIGRATED_DRIVERS } from "#api/kinds/core/v1/persistent-volume/csi-migration.ts";
import { PROVISIONED_BY, withAnnotations, withoutAnnotation } from "./binding.ts";

const PREFIX = "kubernetes.io/";
const HOST_PATH = "kubernetes.io/host-path";
const NFS = "kubernetes.io/nfs";
const PV_CONTROLLER = "kubernetes.io/pv-controller";
const EXTERNAL_PROVISIONER = "external-provisioner.volume.kubernetes.io/finalizer";
const MIGRATED_TO = "pv.kubernetes.io/migrated-to";
export const STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner";
export const BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner";

/** The external provisioner of a class, or why there is none. */
export type Provisioner =
  | { readonly external: string }
  | { readonly error: string; readonly isKnown: boolean };

export function provisionerOf(name: string): Provisioner {
  const driver = MIGRATED_DRIVERS.get(name);
  if (driver !== undefined) return { external: driver };
  if (!name.startsWith(PREFIX)) return { external: name };
  if (name === HOST_PATH) {
    const error = `Failed to create provisioner: provisioning in volume plugin "${HOST_PATH}" is disabled`;
    return { error, isKnown: true };
  }
  if (name === NFS) return { error: "no provisionable volume plugin matched", isKnown: false };
  return { error: `no volume plugin matched name: ${name}`, isKnown: false };
}

/** What deletes a volume: its driver, this controller, or why it cannot be deleted. */
export type Deleter = "driver" | "controller" | { readonly error: string };

export function deleterOf({ metadata, spec }: PersistentVolume): Deleter {
  const { annotations = {}, name } = metadata;
  const provisioner = annotations[PROVISIONED_BY] ?? "";
  if (annotations[MIGRATED_TO]) return "driver";
  if (provisioner !== "") {
    if (!provisioner.startsWith(PREFIX)) return "driver";
    if (provisioner === HOST_PATH) return deleterOfDirectory(name, spec.hostPath?.path);
    if (provisioner === NFS) return { error: "no deletable volume plugin matched" };
    return { error: `no volume plugin matched name: ${provisioner}` };
  }
  if (spec.csi !== undefined) return "driver";
  if (spec.hostPath !== undefined) return deleterOfDirectory(name, spec.hostPath.path);
  const why =
    spec.nfs === undefined ? "no volume plugin matched" : "no deletable volume plugin matched";
  return { error: `error getting deleter volume plugin for volume "${name}": ${why}` };
}

/** Only what is temporary is given up; the directory itself is the machine's to clean away. */
function deleterOfDirectory(name: string | undefined, path: string | undefined): Deleter {
  if (path === undefined) {
    const why = "spec.PersistentVolumeSource.HostPath is nil";
    return { error: `failed to create deleter for volume "${name}": ${why}` };
  }
  if (/\/tmp\/.+/.test(path)) return "controller";
  return { error: `host_path deleter only supports /tmp/.+ but received provided ${path}` };
}

/**
 * The volume with the finalizer that its reclaim policy asks for; undefined if it is so already. One
 * that was provisioned in-tree and is to be deleted must not go before its storage has gone.
 */
export function withDeletionFinalizer(volume: PersistentVolume): PersistentVolume | undefined {
  const { annotations = {}, finalizers = [], deletionTimestamp } = volume.metadata;
  const provisioner = annotations[PROVISIONED_BY];
  if (provisioner === undefined) return undefined;
  const isMigrated = MIGRATED_DRIVERS.has(provisioner);
  if (!isMigrated && !provisioner.startsWith(PREFIX)) return undefined;
  const isDeleted = volume.spec.persistentVolumeReclaimPolicy === "Delete";
  const has = finalizers.includes(PV_CONTROLLER);
  if (isMigrated)
    return has ? withFinalizers(volume, without(finalizers, PV_CONTROLLER)) : undefined;
  const kept = isDeleted ? finalizers : without(finalizers, PV_CONTROLLER);
  const isMissing = isDeleted && !has && deletionTimestamp === undefined;
  const wanted = without(isMissing ? [...kept, PV_CONTROLLER] : kept, EXTERNAL_PROVISIONER);
  return isMissing || wanted.length < finalizers.length
    ? withFinalizers(volume, wanted)
    : undefined;
}

/** The volume once its storage has gone; undefined if nothing else kept it. */
export function withoutDeletionFinalizer(volume: PersistentVolume): PersistentVolume | undefined {
  const { finalizers = [] } = volume.metadata;
  if (!finalizers.includes(PV_CONTROLLER)) return undefined;
  return withFinalizers(volume, without(finalizers, PV_CONTROLLER));
}

function without(names: readonly string[], name: string): readonly string[] {
  return names.filter((one) => one !== name);
}

function withFinalizers(volume: PersistentVolume, finalizers: readonly string[]): PersistentVolume {
  return { ...volume, metadata: { ...volume.metadata, finalizers } };
}

/** The object with the annotation that names the CSI driver it migrated to; undefined if it has it already. */
export function withMigratedTo<T extends PersistentVolume | PersistentVolumeClaim>(
  object: T,
): T | undefined {
  const { annotations = {} } = object.metadata;
  const provisioner =
    annotations[PROVISIONED_BY] ??
    annotations[STORAGE_PROVISIONER] ??
    annotations[BETA_STORAGE_PROVISIONER];
  if (provisioner === undefined) return undefined;
  const driver = MIGRATED_DRIVERS.get(provisioner);
  if (annotations[MIGRATED_TO] === driver) return undefined;
  return driver === undefined
    ? withoutAnnotation(object, MIGRATED_TO)
    : withAnnotations(object, { [MIGRATED_TO]: driver });
}
