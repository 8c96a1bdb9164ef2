/**
 * Volumes made on demand as directories of a node, after the model of rancher's local-path
 * provisioner: the scheduler picks the node, the kubelet makes the directory when a pod first uses it.
 */
import type { Node, PersistentVolume, PersistentVolumeClaim } from "#api/generated/core.v1.ts";
import type { StorageClass } from "#api/generated/storage.v1.ts";
import { BOUND_BY_CONTROLLER, classOf, PROVISIONED_BY, referenceTo } from "./binding.ts";

export const LOCAL_PATH_PROVISIONER = "k8ts.io/local-path";

const HOSTNAME = "kubernetes.io/hostname";
const MODES: readonly string[] = ["ReadWriteOnce", "ReadWriteOncePod"];

export interface LocalVolumes {
  /** Where nodes keep the directories of volumes. */
  readonly directory: string;
}

export type Provisioned =
  | { readonly ok: true; readonly volume: PersistentVolume }
  | { readonly ok: false; readonly error: string };

export function volumeNameFor({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

export function provisionLocally(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass,
  node: Node | undefined,
  { directory }: LocalVolumes,
): Provisioned {
  const error = unsupported(claim);
  if (error !== undefined) return { ok: false, error };
  if (node === undefined) return { ok: false, error: "no node was specified" };
  const name = volumeNameFor(claim);
  const path = `${directory}/${name}_${claim.metadata.namespace}_${claim.metadata.name}`;
  const { accessModes, volumeMode, resources } = claim.spec;
  const hostname = node.metadata.labels?.[HOSTNAME] ?? node.metadata.name ?? "";
  const affinity = { key: HOSTNAME, operator: "In", values: [hostname] } as const;
  return {
    ok: true,
    volume: {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: {
        name,
        annotations: { [BOUND_BY_CONTROLLER]: "yes", [PROVISIONED_BY]: LOCAL_PATH_PROVISIONER },
      },
      spec: {
        capacity: { storage: resources.requests?.storage ?? "0" },
        ...(accessModes === undefined ? {} : { accessModes }),
        ...(volumeMode === undefined ? {} : { volumeMode }),
        claimRef: referenceTo(claim),
        persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? "Delete",
        storageClassName: classOf(claim),
        hostPath: { path, type: "DirectoryOrCreate" },
        nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [affinity] }] } },
      },
      status: {},
    },
  };
}

function unsupported({ spec }: PersistentVolumeClaim): string | undefined {
  if (spec.selector !== undefined) return "claim.Spec.Selector is not supported";
  if (!(spec.accessModes ?? []).every((mode) => MODES.includes(mode))) {
    return "only ReadWriteOnce and ReadWriteOncePod access modes are supported";
  }
  if (spec.volumeMode === "Block") return "block volumes are not supported";
  return spec.dataSourceRef === undefined ? undefined : "data sources are not supported";
}
