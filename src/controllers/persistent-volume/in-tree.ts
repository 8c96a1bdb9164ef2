/**
 * Provisioners that Kubernetes once brought along: most of them are drivers of their own today and
 * known under another name; what is left of the others can only say what it cannot do.
 */
import type { PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import { PROVISIONED_BY, withAnnotations, withoutAnnotation } from "./binding.ts";

const PREFIX = "kubernetes.io/";
const HOST_PATH = "kubernetes.io/host-path";
const NFS = "kubernetes.io/nfs";
const MIGRATED_TO = "pv.kubernetes.io/migrated-to";
export const STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner";
export const BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner";

/** The driver that took the place of each. */
const DRIVERS: Readonly<Record<string, string>> = {
  "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
  "kubernetes.io/azure-disk": "disk.csi.azure.com",
  "kubernetes.io/azure-file": "file.csi.azure.com",
  "kubernetes.io/cinder": "cinder.csi.openstack.org",
  "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
  "kubernetes.io/portworx-volume": "pxd.portworx.com",
  "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
};

/** Who provisions for a class: somebody else under this name, or nobody, and why. */
export type Provisioner =
  | { readonly external: string }
  | { readonly error: string; readonly isKnown: boolean };

export function provisionerOf(name: string): Provisioner {
  const driver = DRIVERS[name];
  if (driver !== undefined) return { external: driver };
  if (!name.startsWith(PREFIX)) return { external: name };
  if (name === HOST_PATH) {
    const error = `Failed to create provisioner: provisioning in volume plugin "${HOST_PATH}" is disabled`;
    return { error, isKnown: true };
  }
  if (name === NFS) return { error: "no provisionable volume plugin matched", isKnown: false };
  return { error: `no volume plugin matched name: ${name}`, isKnown: false };
}

/** Why nobody deletes a volume; undefined if its driver does. */
export function whyNotDeleted({ metadata, spec }: PersistentVolume): string | undefined {
  const { annotations = {}, name } = metadata;
  const provisioner = annotations[PROVISIONED_BY] ?? "";
  if (annotations[MIGRATED_TO]) return undefined;
  const path = spec.hostPath?.path;
  const onlyTemporary = `host_path deleter only supports /tmp/.+ but received provided ${path}`;
  const isElsewhere = path !== undefined && !/^\/tmp\/.+/.test(path);
  if (provisioner !== "") {
    if (!provisioner.startsWith(PREFIX)) return undefined;
    if (provisioner === HOST_PATH && isElsewhere) return onlyTemporary;
    if (provisioner === NFS) return "no deletable volume plugin matched";
    return `no volume plugin matched name: ${provisioner}`;
  }
  if (spec.csi !== undefined) return undefined;
  if (isElsewhere) return onlyTemporary;
  // Directories of nodes are for kubelets to look after: nothing is deleted here.
  const isKnown = spec.nfs !== undefined || path !== undefined;
  const why = isKnown ? "no deletable volume plugin matched" : "no volume plugin matched";
  return `error getting deleter volume plugin for volume "${name}": ${why}`;
}

/** The object, telling which driver has taken it over; undefined if it does so already. */
export function toldMigrated<T extends PersistentVolume | PersistentVolumeClaim>(
  object: T,
): T | undefined {
  const { annotations = {} } = object.metadata;
  const provisioner =
    annotations[PROVISIONED_BY] ??
    annotations[STORAGE_PROVISIONER] ??
    annotations[BETA_STORAGE_PROVISIONER];
  if (provisioner === undefined) return undefined;
  const driver = DRIVERS[provisioner];
  if (annotations[MIGRATED_TO] === driver) return undefined;
  return driver === undefined
    ? withoutAnnotation(object, MIGRATED_TO)
    : withAnnotations(object, { [MIGRATED_TO]: driver });
}
