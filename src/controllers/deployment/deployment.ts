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
  type RefusalOutcome,
  type RefusedWrite,
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
  decideRefused: (state, refused, nowMs) =>
    state === undefined ? {} : decideRefused(state, refused, nowMs),
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
  const { claims, sets } = ownedSets(state);
  const next = decideOwned(state, sets, nowMs);
  const writes = [...claims.writes, ...(next.writes ?? [])];
  const isClaim = next.writes?.length === 0 && claims.writes.length > 0;
  const rule = "ReplicaSets are adopted or released as the selector says";
  return { ...next, writes, ...(isClaim ? { because: rule } : {}) };
}

/** A ReplicaSet could not be created: the status says so, or the name changes after a collision. */
function decideRefused(
  state: DeploymentState,
  refused: RefusedWrite,
  nowMs: number,
): RefusalOutcome {
  const plan = new Plan(state, ownedSets(state).sets, nowMs);
  advance(plan);
  return plan.refused(refused);
}

function ownedSets(state: DeploymentState) {
  const { deployment, candidates } = state;
  const selector = selectorFor(deployment.spec.selector);
  const owner = { kind: deploymentKind, object: deployment };
  const claims = claim(owner, replicaSetKind, candidates, ({ metadata }) =>
    matchesLabels(selector, metadata.labels),
  );
  return { claims, sets: sortOut(deployment, claims.owned) };
}

function decideOwned(state: DeploymentState, sets: Sets, nowMs: number): Outcome {
  const { deployment } = state;
  const rollback = rollbackRevision(deployment);
  const isRunning = deployment.metadata.deletionTimestamp === undefined && !deployment.spec.paused;
  if (rollback !== undefined && isRunning) return rollBack(deployment, sets, rollback);
  const plan = new Plan(state, sets, nowMs);
  const { form, rule } = advance(plan);
  return plan.finish(form, rule);
}

/** How a plan is finished, and the rule that changes its ReplicaSets. */
interface Advance {
  readonly form: "counted" | "rollout";
  readonly rule: string;
}

/** Gathers in the plan what is due now. */
function advance(plan: Plan): Advance {
  const { deployment } = plan;
  if (deployment.metadata.deletionTimestamp !== undefined) {
    return { form: "counted", rule: "a Deployment that is being deleted only counts" };
  }
  plan.notePause();
  plan.refreshCurrent();
  if (deployment.spec.paused) {
    plan.resize(proportionalSizes(deployment, plan.sets), "always");
    if (rollbackRevision(deployment) === undefined) plan.cleanUp();
    return { form: "counted", rule: "a paused Deployment is scaled, but not rolled out" };
  }
  if (isScaled(deployment, plan.sets)) {
    plan.resize(proportionalSizes(deployment, plan.sets), "always");
    return { form: "counted", rule: "spec.replicas changed: all ReplicaSets get their share" };
  }
  return deployment.spec.strategy.type === "Recreate" ? recreate(plan) : roll(plan);
}

function roll(plan: Plan): Advance {
  const isNew = plan.sets.current === undefined;
  plan.ensureCurrent();
  const sizes = rollingStep(plan.deployment, plan.sets);
  plan.resize(sizes, "changed");
  const isOver = sizes.size === 0 && isComplete(plan.deployment, plan.deployment.status);
  if (isOver) plan.cleanUp();
  const step =
    "the new ReplicaSet grows and the old ones shrink within maxSurge and maxUnavailable";
  const rule = isNew ? NEW_TEMPLATE : isOver ? HISTORY : step;
  return { form: "rollout", rule };
}

function recreate(plan: Plan): Advance {
  const { deployment, sets } = plan;
  const form = "rollout";
  const active = sets.old.filter((set) => sizeOf(set) > 0);
  if (active.length > 0) {
    plan.resize(new Map(active.map((set) => [uidOf(set), 0])), "changed");
    return { form, rule: "Recreate: the pods of the old template go first" };
  }
  if (plan.oldPodsRun()) return { form, rule: "Recreate: pods of the old template still run" };
  const isNew = sets.current === undefined;
  plan.ensureCurrent();
  if (plan.sets.current !== undefined) {
    plan.resize(new Map([[uidOf(plan.sets.current), desiredReplicas(deployment)]]), "changed");
  }
  const isOver = isComplete(deployment, deployment.status);
  if (isOver) plan.cleanUp();
  const rule = isNew
    ? NEW_TEMPLATE
    : isOver
      ? HISTORY
      : "Recreate: no pod of the old template runs";
  return { form, rule };
}

const NEW_TEMPLATE = "no ReplicaSet has the template";
const HISTORY = "ReplicaSets beyond revisionHistoryLimit are deleted after the rollout";

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
    because: "a selector that selects all pods is refused",
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
