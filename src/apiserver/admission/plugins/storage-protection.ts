/** StorageObjectInUseProtection: adds the protection finalizers to PVs, PVCs and VolumeAttributesClasses. */
import { success } from "#api/meta/status.ts";
import { withMetadata } from "../changed-object.ts";
import type { AdmissionPlugin } from "../plugin.ts";

const FINALIZERS: Readonly<Record<string, string>> = {
  "/persistentvolumes": "kubernetes.io/pv-protection",
  "/persistentvolumeclaims": "kubernetes.io/pvc-protection",
  "storage.k8s.io/volumeattributesclasses": "kubernetes.io/vac-protection",
};

export const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  operations: ["CREATE"],
  admit({ operation, kind, subresource, object }) {
    if (operation !== "CREATE" || subresource !== "" || object === undefined) return;
    const finalizer = FINALIZERS[`${kind.group}/${kind.names.plural}`];
    if (finalizer === undefined) return;
    const { finalizers = [] } = object.metadata;
    if (finalizers.includes(finalizer)) return;
    return success(withMetadata(object, { finalizers: [...finalizers, finalizer] }));
  },
};
