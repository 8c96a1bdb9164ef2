/** What a CSI driver is asked, from the objects of the API. Pure. */
import type { PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import type { CSIDriver } from "#api/generated/storage.v1.ts";
import { sha256Hex } from "#lib/text/sha256.ts";
import { csiAccessMode, type VolumeCapability } from "./csi-messages.ts";

export type Lifecycle = "Persistent" | "Ephemeral";

export interface CapabilityOptions {
  readonly fsType: string;
  readonly mountOptions: readonly string[];
  readonly accessMode: string;
  readonly isBlock: boolean;
  readonly separatesWriters: boolean;
  /** For drivers with VOLUME_MOUNT_GROUP. */
  readonly mountGroup: number | undefined;
}

export function volumeCapability(options: CapabilityOptions): VolumeCapability {
  const { fsType, mountOptions, accessMode, isBlock, separatesWriters, mountGroup } = options;
  const mode = { mode: csiAccessMode(accessMode, separatesWriters) };
  if (isBlock) return { block: {}, accessMode: mode };
  return {
    mount: {
      fsType,
      mountFlags: mountOptions,
      ...(mountGroup === undefined ? {} : { volumeMountGroup: String(mountGroup) }),
    },
    accessMode: mode,
  };
}

/** With `podInfoOnMount` drivers are given these in the volume context. */
export function podInfo({ metadata, spec }: Pod, lifecycle: Lifecycle): Record<string, string> {
  return {
    "csi.storage.k8s.io/pod.name": metadata.name ?? "",
    "csi.storage.k8s.io/pod.namespace": metadata.namespace ?? "",
    "csi.storage.k8s.io/pod.uid": metadata.uid ?? "",
    "csi.storage.k8s.io/serviceAccount.name": spec.serviceAccountName ?? "",
    "csi.storage.k8s.io/ephemeral": String(lifecycle === "Ephemeral"),
  };
}

/** The handle of an inline volume: it must be the same every time. */
export function ephemeralHandle(podUid: string, volumeName: string): string {
  return `csi-${sha256Hex(`${podUid}${volumeName}`)}`;
}

export function attachmentName(handle: string, driver: string, nodeName: string): string {
  return `csi-${sha256Hex(`${handle}${driver}${nodeName}`)}`;
}

/** As Nodes list it among the volumes in use and attached. */
export function uniqueVolumeName(driver: string, handle: string): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}

/** Whether the kubelet gives the files of a volume to the pod's fsGroup. */
export function appliesFsGroup(
  policy: NonNullable<CSIDriver["spec"]["fsGroupPolicy"]>,
  fsType: string,
  persistentVolume: PersistentVolume | undefined,
): boolean {
  if (policy === "None") return false;
  if (policy === "File") return true;
  if (fsType === "") return false;
  if (persistentVolume === undefined) return true;
  const modes = persistentVolume.spec.accessModes ?? [];
  return modes.some((mode) => mode === "ReadWriteOnce" || mode === "ReadWriteOncePod");
}

/** Why the driver cannot serve such a volume; undefined if it can. */
export function whyNotLifecycle(
  driver: CSIDriver | undefined,
  name: string,
  lifecycle: Lifecycle,
): string | undefined {
  if (driver === undefined) {
    return lifecycle === "Persistent"
      ? undefined
      : `volume mode "Ephemeral" not supported by driver ${name} (no CSIDriver object)`;
  }
  const modes = driver.spec.volumeLifecycleModes ?? ["Persistent"];
  if (modes.includes(lifecycle)) return undefined;
  return `volume mode "${lifecycle}" not supported by driver ${name} (only supports ${JSON.stringify(modes)})`;
}
