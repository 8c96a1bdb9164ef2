/** In what kinds differ when one of their objects is deleted. */
import type { Namespace, Pod } from "#api/generated/core.v1.ts";
import type { DeleteOptions } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import type { StoredResource } from "../storage/resources.ts";

export interface DeleteTraits {
  /** What becomes of dependents unless the request says. */
  readonly garbageCollection: "delete" | "orphan" | "unsupported";
  /** A delete answers with the object instead of a Status. */
  readonly returnsObject: boolean;
  /** The grace period in seconds, for kinds that have one; `asked` by the request. */
  graceSeconds?(object: KubeObject, asked: number | undefined): number;
  warnings?(options: DeleteOptions): readonly string[];
  /** Something beside its finalizers keeps the object until it is dealt with. */
  isHeld?(object: KubeObject): boolean;
  /** What else changes in an object that is being deleted. */
  mark?(draft: Draft<KubeObject>): void;
}

export function deleteTraits({ group, plural }: StoredResource): DeleteTraits {
  const name = `${group}/${plural}`;
  return SPECIAL[name] ?? (RETURN_OBJECT.has(name) ? RETURNS_OBJECT : PLAIN);
}

const PLAIN: DeleteTraits = { garbageCollection: "delete", returnsObject: false };
const RETURNS_OBJECT: DeleteTraits = { garbageCollection: "delete", returnsObject: true };

const RETURN_OBJECT: ReadonlySet<string> = new Set([
  "/resourcequotas",
  "/persistentvolumes",
  "/serviceaccounts",
  "/persistentvolumeclaims",
  "/services",
  "/podtemplates",
  "storage.k8s.io/csidrivers",
  "storage.k8s.io/storageclasses",
  "storage.k8s.io/volumeattachments",
  "storage.k8s.io/csinodes",
  "storage.k8s.io/volumeattributesclasses",
  "resource.k8s.io/resourceclaimtemplates",
  "resource.k8s.io/resourceslices",
  "resource.k8s.io/resourceclaims",
  "resource.k8s.io/deviceclasses",
  "resource.k8s.io/devicetaintrules",
  "resource.k8s.io/resourcepoolstatusrequests",
]);

const SPECIAL: Readonly<Record<string, DeleteTraits>> = {
  "/pods": { garbageCollection: "delete", returnsObject: true, graceSeconds: podGraceSeconds },
  "/namespaces": {
    garbageCollection: "delete",
    returnsObject: true,
    isHeld: (object) => ((object as Namespace).spec.finalizers ?? []).length > 0,
    mark: (draft) => {
      (draft as Draft<Namespace>).status.phase = "Terminating";
      delete draft.metadata.deletionGracePeriodSeconds; // there is none, not even of zero
    },
  },
  "/replicationcontrollers": { garbageCollection: "orphan", returnsObject: false },
  "/events": { garbageCollection: "unsupported", returnsObject: false },
  "batch/jobs": { garbageCollection: "orphan", returnsObject: false, warnings: warnAboutPods },
};

/** A pod that runs nowhere, or no more, needs no time to end. */
function podGraceSeconds(object: KubeObject, asked: number | undefined): number {
  const { spec, status } = object as Pod;
  if ((spec?.nodeName ?? "") === "") return 0;
  if (status?.phase === "Failed" || status?.phase === "Succeeded") return 0;
  const seconds = asked ?? spec?.terminationGracePeriodSeconds ?? 0;
  return seconds < 0 ? 1 : seconds;
}

function warnAboutPods({ propagationPolicy, orphanDependents }: DeleteOptions): readonly string[] {
  if (propagationPolicy !== undefined || orphanDependents !== undefined) return [];
  return [
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  ];
}
