/** How many pods the controllers of a budget's pods want, all together. */

import type { Pod } from "#api/generated/core.v1.ts";
import type { OwnerReference } from "#api/generated/meta.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import type { Caches, Reader } from "#runtime/controller.ts";
import { controllerOf } from "../shared/ownership.ts";
import { findScale, resourceOfKind } from "../shared/scale-target.ts";

/** The expected number of pods, or why it cannot be computed. */
export type BudgetScale =
  | { readonly expected: number; readonly unmanaged: boolean }
  | { readonly error: string };

export async function scaleOf(
  pods: readonly Pod[],
  caches: Caches,
  reader: Reader,
): Promise<BudgetScale> {
  const scales = new Map<string, number>();
  let unmanaged = false;
  for (const pod of pods) {
    const reference = controllerOf(pod);
    if (reference === undefined) {
      unmanaged = true;
    } else if (!scales.has(reference.uid)) {
      const found = await ownerScale(reference, pod.metadata.namespace, caches, reader);
      if (found === undefined)
        return { error: `found no controllers for pod "${pod.metadata.name}"` };
      if ("error" in found) return found;
      scales.set(found.uid, found.replicas);
    }
  }
  return { expected: [...scales.values()].reduce((sum, n) => sum + n, 0), unmanaged };
}

/** Undefined: there is no such controller. */
type OwnerScale =
  | { readonly uid: string; readonly replicas: number }
  | { readonly error: string }
  | undefined;

async function ownerScale(
  reference: OwnerReference,
  namespace: string | undefined,
  caches: Caches,
  reader: Reader,
): Promise<OwnerScale> {
  const { kind, uid } = reference;
  if (kind === "ReplicaSet") {
    const set = caches(replicaSetKind).byUid(uid);
    const owner = set === undefined ? undefined : controllerOf(set);
    const deployment =
      owner?.kind === "Deployment" ? caches(deploymentKind).byUid(owner.uid) : undefined;
    if (deployment !== undefined)
      return { uid: owner!.uid, replicas: deployment.spec.replicas ?? 1 };
    return set === undefined ? undefined : { uid, replicas: set.spec.replicas ?? 1 };
  }
  const known =
    kind === "StatefulSet"
      ? caches(statefulSetKind).byUid(uid)
      : kind === "ReplicationController"
        ? caches(replicationControllerKind).byUid(uid)
        : undefined;
  if (known !== undefined) return { uid, replicas: known.spec.replicas ?? 1 };
  return await fromScaleSubresource(reference, namespace ?? "", reader);
}

/** Controllers of other kinds say how many they want through their scale subresource. */
async function fromScaleSubresource(
  reference: OwnerReference,
  namespace: string,
  reader: Reader,
): Promise<OwnerScale> {
  const { apiVersion, kind, uid } = reference;
  const found = await findScale(reader, namespace, reference);
  if (found.ok) {
    const { spec, metadata } = found.scale;
    return metadata?.uid === uid ? { uid, replicas: spec.replicas ?? 0 } : undefined;
  }
  const target = await resourceOfKind(reader, apiVersion, kind);
  if (!target.ok) return { error: `no matches for kind "${kind}" in version "${apiVersion}"` };
  if (target.hasScale) return found.isMissing ? undefined : { error: found.error };
  const { group, names } = target.resource;
  const resource = group === "" ? names.plural : `${names.plural}.${group}`;
  return { error: `${resource} does not implement the scale subresource` };
}
