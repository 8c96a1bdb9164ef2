/**
 * Brings the bootstrap objects of a cluster up to this version's tables, at every start.
 *
 * Promises:
 * 1. What is missing is created. What is there is only added to: users' own rules, subjects, labels
 *    and annotations stay.
 * 2. A role or binding with `rbac.authorization.kubernetes.io/autoupdate: "false"` is left alone, and
 *    so is a suggested flow schema or priority level with `apf.kubernetes.io/autoupdate-spec: "false"`.
 * 3. Deciding is pure; a second run on the outcome decides nothing.
 */
import { isDeepStrictEqual } from "node:util";
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  RoleBinding,
  Subject,
} from "#api/generated/rbac.v1.ts";
import type { Draft, KindOf, KubeObject } from "#api/kind.ts";
import { flowSchemaKind } from "#api/kinds/flowcontrol/v1/flow-schema.ts";
import { priorityLevelConfigurationKind } from "#api/kinds/flowcontrol/v1/priority-level-configuration.ts";
import { clusterRoleBindingKind, roleBindingKind } from "#api/kinds/rbac/v1/bindings.ts";
import { clusterRoleKind, roleKind } from "#api/kinds/rbac/v1/roles.ts";
import { priorityClassKind } from "#api/kinds/scheduling/v1/priority-class.ts";
import type { Result } from "#api/meta/status.ts";
import { missingRules } from "../authz/rule.ts";
import { danglingCondition } from "../flow/flow-schema-status.ts";
import type { Objects } from "../storage/objects.ts";
import { accessObjects } from "./access-objects.ts";
import { AUTO_UPDATE, flowSchemas, MANDATORY, priorityLevels } from "./flow-objects.ts";
import { systemPriorityClasses } from "./priority-classes.ts";

/** Returns what went wrong; the server tries again later. */
export async function reconcileAccess(
  objects: Objects,
  features: readonly string[] = [],
): Promise<string[]> {
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = accessObjects(features);
  return carryOut([
    ...clusterRoles.map((role) => ensure(objects, clusterRoleKind, role, decideRole)),
    ...roles.map((role) => ensure(objects, roleKind, role, decideRole)),
    ...clusterRoleBindings.map((one) =>
      ensure(objects, clusterRoleBindingKind, one, decideBinding),
    ),
    ...roleBindings.map((one) => ensure(objects, roleBindingKind, one, decideBinding)),
  ]);
}

/** New schemas say at once that their levels are there: both come from the same tables. */
export async function reconcileFlowControl(objects: Objects, nowMs: number): Promise<string[]> {
  const schemas = flowSchemas().map((schema) => {
    const level = schema.spec.priorityLevelConfiguration.name;
    return { ...schema, status: { conditions: [danglingCondition(level, true, nowMs)] } };
  });
  return carryOut([
    ...priorityLevels().map((one) =>
      ensure(objects, priorityLevelConfigurationKind, one, decideFlow),
    ),
    ...schemas.map((one) => ensure(objects, flowSchemaKind, one, decideFlow)),
  ]);
}

export async function reconcilePriorityClasses(objects: Objects): Promise<string[]> {
  return carryOut(
    systemPriorityClasses().map((one) => ensure(objects, priorityClassKind, one, () => "keep")),
  );
}

/** What becomes of an object that is there: it stays, it changes, or it must be made anew. */
type Verdict<T> = "keep" | "replace" | ((draft: Draft<T>) => void);

async function ensure<T extends KubeObject>(
  objects: Objects,
  kind: KindOf<T>,
  wanted: T,
  decide: (existing: T, wanted: T) => Verdict<T>,
): Promise<Result<T> | undefined> {
  const { name = "", namespace = "" } = wanted.metadata;
  const existing = objects.get(kind, namespace, name);
  if (existing === undefined) return objects.create(kind, wanted);
  const verdict = decide(existing, wanted);
  if (verdict === "keep") return undefined;
  if (verdict === "replace") {
    const deleted = await objects.delete(kind, namespace, name);
    return deleted.ok ? objects.create(kind, wanted) : deleted;
  }
  return objects.mutate(kind, namespace, name, (draft) => {
    verdict(draft);
    return undefined;
  });
}

async function carryOut(work: readonly Promise<Result<KubeObject> | undefined>[]) {
  const results = await Promise.all(work);
  return results.flatMap((result) =>
    // Another server that starts at the same time may have been first.
    result === undefined || result.ok || result.status.reason === "AlreadyExists"
      ? []
      : [result.status.message ?? ""],
  );
}

const AUTO_UPDATE_ACCESS = "rbac.authorization.kubernetes.io/autoupdate";

function decideRole(
  existing: ClusterRole,
  wanted: ClusterRole,
): "keep" | ((draft: Draft<ClusterRole>) => void) {
  if (existing.metadata.annotations?.[AUTO_UPDATE_ACCESS] === "false") return "keep";
  const aggregated = wanted.aggregationRule !== undefined;
  const missing = aggregated ? [] : missingRules(existing.rules ?? [], wanted.rules ?? []);
  const selectors = missingSelectors(existing, wanted);
  const stray = !aggregated && existing.aggregationRule !== undefined;
  if (missing.length + selectors.length === 0 && !stray && hasMeta(existing, wanted)) return "keep";
  return (draft) => {
    addMeta(draft, wanted);
    if (missing.length > 0) draft.rules = [...(draft.rules ?? []), ...drafted<PolicyRule>(missing)];
    if (stray) delete draft.aggregationRule;
    if (selectors.length > 0) {
      const kept = draft.aggregationRule?.clusterRoleSelectors ?? [];
      draft.aggregationRule = { clusterRoleSelectors: [...kept, ...drafted(selectors)] };
    }
  };
}

function decideBinding(
  existing: ClusterRoleBinding,
  wanted: ClusterRoleBinding,
): Verdict<RoleBinding> {
  if (existing.metadata.annotations?.[AUTO_UPDATE_ACCESS] === "false") return "keep";
  // A binding's role cannot be changed.
  if (!isDeepStrictEqual(existing.roleRef, wanted.roleRef)) return "replace";
  const missing = (wanted.subjects ?? []).filter(
    (subject) => !existing.subjects?.some((one) => isDeepStrictEqual({ ...one }, { ...subject })),
  );
  if (missing.length === 0 && hasMeta(existing, wanted)) return "keep";
  return (draft) => {
    addMeta(draft, wanted);
    if (missing.length > 0) {
      draft.subjects = [...(draft.subjects ?? []), ...drafted<Subject>(missing)];
    }
  };
}

interface WithSpec extends KubeObject {
  readonly spec: object;
}

function decideFlow<T extends WithSpec>(existing: T, wanted: T): Verdict<T> {
  const mandatory = MANDATORY.has(wanted.metadata.name!);
  const annotation = existing.metadata.annotations?.[AUTO_UPDATE];
  // Without the annotation, an object of generation 1 was never changed, so the server still owns it.
  const own = annotation === undefined ? existing.metadata.generation === 1 : annotation === "true";
  const stale = !isDeepStrictEqual(existing.spec, wanted.spec) && (mandatory || own);
  const unmarked = mandatory ? annotation !== "true" : annotation === undefined;
  if (!stale && !unmarked) return "keep";
  return (draft) => {
    const mark = mandatory || own ? "true" : "false";
    draft.metadata.annotations = { ...draft.metadata.annotations, [AUTO_UPDATE]: mark };
    if (!stale) return;
    draft.spec = structuredClone(wanted.spec) as Draft<T>["spec"];
    draft.metadata.generation = (draft.metadata.generation ?? 0) + 1;
  };
}

function missingSelectors(existing: ClusterRole, wanted: ClusterRole) {
  const have = existing.aggregationRule?.clusterRoleSelectors ?? [];
  const want = wanted.aggregationRule?.clusterRoleSelectors ?? [];
  return want.filter((selector) => !have.some((one) => isDeepStrictEqual(one, selector)));
}

function hasMeta({ metadata }: KubeObject, wanted: KubeObject): boolean {
  const has = (have: Readonly<Record<string, string>> = {}, want = have): boolean =>
    Object.keys(want).every((key) => Object.hasOwn(have, key));
  return (
    has(metadata.labels, wanted.metadata.labels) &&
    has(metadata.annotations, wanted.metadata.annotations)
  );
}

function addMeta({ metadata }: Draft<KubeObject>, wanted: KubeObject): void {
  metadata.labels = { ...wanted.metadata.labels, ...metadata.labels };
  metadata.annotations = { ...wanted.metadata.annotations, ...metadata.annotations };
}

function drafted<T>(values: readonly T[]): Draft<T>[] {
  return structuredClone(values) as Draft<T>[];
}
