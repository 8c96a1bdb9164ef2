/** ReplicationControllers: ReplicaSets of an older shape, under the same rules. */

import type { ReplicaSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { matchesLabels, selectorFromLabels } from "#api/meta/label-selector.ts";
import { type Caches, defineController, idle, type Key, ownKey } from "#runtime/controller.ts";
import { updateStatus } from "#runtime/writes.ts";
import {
  candidatePods,
  decide,
  orphanPods,
  type ReplicaState,
  type SetForm,
} from "./replica-set.ts";
import { controllerOf } from "./shared/ownership.ts";

export const replicationControllerController = defineController<ReplicaState | undefined>({
  name: "replicationcontroller-controller",
  component: "replication-controller",
  feeds: [
    { kind: replicationControllerKind, keys: ownKey },
    { kind: podKind, keys: keysOfPod },
  ],
  indexes: [orphanPods],
  observe,
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
});

function keysOfPod(pod: Pod, caches: Caches): readonly Key[] {
  const { namespace, labels } = pod.metadata;
  const controller = controllerOf(pod);
  if (controller !== undefined) {
    return controller.kind === "ReplicationController"
      ? [{ namespace, name: controller.name }]
      : [];
  }
  return [...caches(replicationControllerKind).list(namespace)]
    .filter(({ spec }) => matchesLabels(selectorFromLabels(spec.selector ?? {}), labels))
    .flatMap(ownKey);
}

function observe(caches: Caches, { namespace, name }: Key): ReplicaState | undefined {
  const stored = caches(replicationControllerKind).get(namespace, name);
  if (stored?.spec.template === undefined) return undefined;
  const { selector = {}, template, ...spec } = stored.spec;
  const set: ReplicaSet = {
    ...stored,
    spec: { ...spec, selector: { matchLabels: selector }, template },
  };
  const form: SetForm = {
    kind: replicationControllerKind,
    countsTerminating: false,
    statusWrite: ({ status }) => updateStatus(replicationControllerKind, { ...stored, status }),
  };
  return {
    form,
    set,
    selector: selectorFromLabels(selector),
    pods: candidatePods(caches, set),
    relatedByNode: new Map(),
  };
}
