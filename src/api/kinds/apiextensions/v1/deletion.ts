/** A definition is removed after all of its objects: a finalizer holds it until then. */
import type { CustomResourceDefinition } from "#api/generated/apiextensions.v1.ts";
import type { Draft } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { withCondition } from "./conditions.ts";

export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

/** What the first delete of a definition does. */
export function beginDeletion(draft: Draft<CustomResourceDefinition>, nowMs: number): void {
  const { metadata } = draft;
  metadata.deletionTimestamp = timeFromMs(nowMs);
  const finalizers = metadata.finalizers ?? [];
  if (!finalizers.includes(CLEANUP_FINALIZER)) {
    metadata.finalizers = [...finalizers, CLEANUP_FINALIZER];
  }
  const condition = {
    type: "Terminating",
    status: "True",
    reason: "InstanceDeletionPending",
    message:
      "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  };
  draft.status = withCondition(draft.status, condition, nowMs) as typeof draft.status;
}
