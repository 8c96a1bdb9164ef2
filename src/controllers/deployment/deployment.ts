/**
 * Rolls a Deployment's pod template out over ReplicaSets: one set a template, grown and shrunk step
 * by step, old ones kept as history.
 */

import type { Deployment, ReplicaSet } from "#api/generated/apps.v1.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { deploymentKind } from "#api/kinds/apps/v1/deployment.ts";
import { replicaSetKind } from "#api/kinds/apps/v1/replica-set.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { matchesLabels, type Selector, selectorOf } from "#api/meta/label-selector.ts";
import {
  type Caches,
  defineController,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { updateStatus } from "#runtime/writes.ts";
import { byNamePrefix, namedAfter } from "../shared/name-prefix.ts";
import { claim, controllerOf } from "../shared/ownership.ts";
import { type DeploymentState, Plan, setNamePrefix } from "./plan.ts";
import { annotatedDesired } from "./revisions.ts";
import { rollBack, rollbackRevision } from "./rollback.ts";
import {
  allOf,
  byAge,
  proportionalSizes,
  rollingStep,
  type Sets,
  sizeOf,
  uidOf,
} from "./rollout.ts";
import { isComplete } from "./status.ts";
import { desiredReplicas } from "./strategy.ts";
import { isSameTemplate } from "./template.ts";

export const deploymentController = defineController<DeploymentState | undefined>({
  name: "deployment-controller",
  rule: "the ReplicaSet of the current template grows and the others shrink within maxSurge and maxUnavailable",
  feeds: [
    { kind: deploymentKind, keys: ownKey },
    { kind: replicaSetKind, keys: keysOfSet },
    { kind: podKind, keys: keysOfPod },
  ],
  indexes: [
    {
      kind: replicaSetKind,
      name: "orphans",
      values: (set: ReplicaSet) =>
        controllerOf(set) === undefined ? [set.metadata.namespace ?? ""] : [],
    },
    byNamePrefix(replicaSetKind),
  ],
  observe,
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
});

function keysOfSet(set: ReplicaSet, caches: Caches): readonly Key[] {
  const { namespace, labels } = set.metadata;
  const controller = controllerOf(set);
  if (controller !== undefined)
    return controller.kind === "Deployment" ? [{ namespace, name: controller.name }] : [];
  return [...caches(deploymentKind).list(namespace)]
    .filter(({ spec }) => matchesLabels(selectorFor(spec.selector), labels))
    .flatMap(ownKey);
}

/** Only a Recreate rollout waits for pods: the last one that goes is what it waits for. */
function keysOfPod(pod: Pod, caches: Caches): readonly Key[] {
  const owner = controllerOf(pod);
  const set = owner?.kind === "ReplicaSet" ? caches(replicaSetKind).byUid(owner.uid) : undefined;
  if (set === undefined) return [];
  const isRecreate = ({ namespace, name }: Key): boolean =>
    caches(deploymentKind).get(namespace, name)?.spec.strategy.type === "Recreate";
  return keysOfSet(set, caches).filter(isRecreate);
}

function observe(caches: Caches, { namespace, name }: Key): DeploymentState | undefined {
  const deployment = caches(deploymentKind).get(namespace, name);
  if (deployment === undefined) return undefined;
  const sets = caches(replicaSetKind);
  const candidates = [
    ...sets.controlledBy(deployment.metadata.uid ?? ""),
    ...sets.byIndex("orphans", namespace ?? ""),
  ];
  const pods = new Map(
    candidates.map((set) => [uidOf(set), [...caches(podKind).controlledBy(uidOf(set))]]),
  );
  const namesakes = namedAfter(caches, replicaSetKind, namespace, setNamePrefix(deployment));
  return { deployment, candidates, pods, namesakes };
}

function decide(state: DeploymentState, nowMs: number): Outcome {
  const { deployment } = state;
  if (isEmpty(deployment.spec.selector)) return refuseToSelectAll(deployment);
  const selector = selectorFor(deployment.spec.selector);
  const claims = claim(
    { kind: deploymentKind, object: deployment },
    replicaSetKind,
    state.candidates,
    (set) => matchesLabels(selector, set.metadata.labels),
  );
  const sets = sortOut(deployment, claims.owned);
  const next = decideOwned(state, sets, nowMs);
  return { ...next, writes: [...claims.writes, ...(next.writes ?? [])] };
}

function decideOwned(state: DeploymentState, sets: Sets, nowMs: number): Outcome {
  const { deployment } = state;
  const plan = new Plan(state, sets, nowMs);
  if (deployment.metadata.deletionTimestamp !== undefined) return plan.finish("counted");
  plan.notePause();
  if (deployment.spec.paused) {
    plan.refreshCurrent();
    plan.resize(proportionalSizes(deployment, plan.sets), "always");
    if (rollbackRevision(deployment) === undefined) plan.cleanUp();
    return plan.finish("counted");
  }
  const rollback = rollbackRevision(deployment);
  if (rollback !== undefined) return rollBack(deployment, sets, rollback);
  plan.refreshCurrent();
  if (isScaled(deployment, plan.sets)) {
    plan.resize(proportionalSizes(deployment, plan.sets), "always");
    return plan.finish("counted");
  }
  return deployment.spec.strategy.type === "Recreate" ? recreate(plan) : roll(plan);
}

function roll(plan: Plan): Outcome {
  plan.ensureCurrent();
  const sizes = rollingStep(plan.deployment, plan.sets);
  plan.resize(sizes, "changed");
  if (sizes.size === 0 && isComplete(plan.deployment, plan.deployment.status)) plan.cleanUp();
  return plan.finish("rollout");
}

function recreate(plan: Plan): Outcome {
  const { deployment, sets } = plan;
  const active = sets.old.filter((set) => sizeOf(set) > 0);
  if (active.length > 0) {
    plan.resize(new Map(active.map((set) => [uidOf(set), 0])), "changed");
    return plan.finish("rollout");
  }
  if (plan.oldPodsRun()) return plan.finish("rollout");
  plan.ensureCurrent();
  if (plan.sets.current !== undefined) {
    plan.resize(new Map([[uidOf(plan.sets.current), desiredReplicas(deployment)]]), "changed");
  }
  if (isComplete(deployment, deployment.status)) plan.cleanUp();
  return plan.finish("rollout");
}

/** The oldest set with the current template, and all the others. */
function sortOut(deployment: Deployment, owned: readonly ReplicaSet[]): Sets {
  const sorted = [...owned].sort(byAge);
  const current = sorted.find(({ spec }) =>
    isSameTemplate(spec.template, deployment.spec.template),
  );
  return { current, old: sorted.filter((set) => set !== current) };
}

function isScaled(deployment: Deployment, sets: Sets): boolean {
  const wanted = desiredReplicas(deployment);
  return allOf(sets).some((set) => {
    const annotated = annotatedDesired(set);
    return sizeOf(set) > 0 && annotated !== undefined && annotated !== wanted;
  });
}

function refuseToSelectAll(deployment: Deployment): Outcome {
  const { generation = 0 } = deployment.metadata;
  const message = "This deployment is selecting all pods. A non-empty selector is required.";
  const behind = (deployment.status.observedGeneration ?? 0) < generation;
  const status = { ...deployment.status, observedGeneration: generation };
  return {
    events: [{ about: deployment, type: "Warning", reason: "SelectingAll", message }],
    writes: behind ? [updateStatus(deploymentKind, { ...deployment, status })] : [],
  };
}

function isEmpty(selector: Deployment["spec"]["selector"]): boolean {
  if (selector === undefined || selector === null) return true;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

function selectorFor(selector: Deployment["spec"]["selector"]): Selector {
  const parsed = selectorOf(selector ?? undefined);
  return parsed.ok ? parsed.value : "nothing";
}
