/** Fills ClusterRoles that are made of others: their rules are those of all roles that they select. */
import type { ClusterRole, PolicyRule } from "#api/generated/rbac.v1.ts";
import { clusterRoleKind } from "#api/kinds/rbac/v1/roles.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  defineController,
  idle,
  type Key,
  type Outcome,
} from "#runtime/controller.ts";
import { applyFields } from "#runtime/writes.ts";

interface State {
  readonly role: ClusterRole | undefined;
  readonly others: readonly ClusterRole[];
}

export const clusterRoleAggregation = defineController<State>({
  name: "clusterrole-aggregation-controller",
  rule: "the rules of an aggregated role are those of all roles that it selects",
  feeds: [{ kind: clusterRoleKind, keys: keysOf }],
  observe: (caches, { name }) => ({
    role: caches(clusterRoleKind).get(undefined, name),
    others: [...caches(clusterRoleKind).list()].filter(({ metadata }) => metadata.name !== name),
  }),
  decide,
});

/** A changed role concerns every role that is made of others: it may be one of them. */
function keysOf(_: ClusterRole, caches: Caches): readonly Key[] {
  return [...caches(clusterRoleKind).list()]
    .filter(({ aggregationRule }) => aggregationRule !== undefined)
    .map(({ metadata }) => ({ name: metadata.name ?? "" }));
}

function decide({ role, others }: State): Outcome {
  if (role?.aggregationRule === undefined || role.metadata.deletionTimestamp !== undefined)
    return idle;
  const rules: PolicyRule[] = [];
  for (const selector of role.aggregationRule.clusterRoleSelectors ?? []) {
    const parsed = selectorOf(selector);
    if (!parsed.ok) continue;
    const selected = others.filter(({ metadata }) => matchesLabels(parsed.value, metadata.labels));
    for (const other of [...selected].sort(byName)) {
      for (const rule of other.rules ?? [])
        if (!rules.some((known) => semanticEqual(known, rule))) rules.push(rule);
    }
  }
  if (semanticEqual(rules, role.rules ?? [])) return idle;
  return { writes: [applyFields(clusterRoleKind, role, { rules })] };
}

function byName(a: ClusterRole, b: ClusterRole): number {
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
}
