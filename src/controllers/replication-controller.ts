/** ReplicationControllers: ReplicaSets of an older shape, under the same rules. */

import type { ReplicaSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { replicationControllerKind } from "#api/kinds/core/v1/workload/replication-controller.ts";
import { matchesLabels, selectorFromLabels } from "#api/meta/label-selector.ts";
import { type Caches, defineController, idle, type Key, ownKey } from "#runtime/controller.ts";
import {
  candidatePods,
  decide,
  decideRefused,
  orphanPods,
  type ReplicaState,
  type SetForm,
} from "./replica-set.ts";
import { controllerOf } from "./shared/ownership.ts";

const REPLICATION_CONTROLLER: SetForm = {
  kind: replicationControllerKind,
  countsTerminating: false,
};

export const replicationControllerController = defineController<ReplicaState | undefined>({
  name: "replicationcontroller-controller",
  rule: "as many pods as replicas asks for: surplus pods are deleted, missing ones created",
  component: "replication-controller",
  feeds: [
    { kind: replicationControllerKind, keys: ownKey },
    { kind: podKind, keys: keysOfPod },
  ],
  indexes: [orphanPods],
  observe,
  decide: (state, nowMs) =>
    state === undefined ? idle : decide(state, REPLICATION_CONTROLLER, nowMs),
  decideRefused: (state, refused, nowMs) =>
    state === undefined ? {} : decideRefused(state, REPLICATION_CONTROLLER, refused, nowMs),
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
  return {
    set,
    stored,
    selector: selectorFromLabels(selector),
    pods: candidatePods(caches, set),
    relatedByNode: new Map(),
  };
}
