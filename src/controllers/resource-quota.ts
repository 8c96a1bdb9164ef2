/**
 * Keeps the status of ResourceQuotas true. Admission charges what is created; this controller counts
 * afresh when a quota changes, when something that was charged goes or needs less, and now and then.
 */

import type { ResourceQuota } from "#api/generated/core.v1.ts";
import type { KubeObject } from "#api/kind.ts";
import { builtInKinds } from "#api/kinds/built-in-kinds.ts";
import { resourceQuotaKind } from "#api/kinds/core/v1/resources/resource-quota.ts";
import { type Amounts, addAmounts } from "#api/quota/amounts.ts";
import type { Measure } from "#api/quota/measure.ts";
import { isInAllScopes, measureOf } from "#api/quota/measures.ts";
import { objectCount } from "#api/quota/object-count.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  type Change,
  type Controller,
  defineController,
  type Feed,
  idle,
  type Key,
  type Outcome,
  ownKey,
  type Resource,
} from "#runtime/controller.ts";
import { ResourceSet } from "#runtime/resource-set.ts";
import { updateStatus } from "#runtime/writes.ts";

const RESYNC_MS = 300_000;

export interface QuotaState {
  readonly quota: ResourceQuota;
  /** Objects of the namespace that the quota's resources are about, by the measure of their kind. */
  readonly counted: readonly {
    readonly measure: Measure;
    readonly objects: readonly KubeObject[];
  }[];
}

interface Countable {
  readonly kind: Feed["kind"];
  readonly measure: Measure;
}

/** Every stored namespaced kind once, whichever versions it is served in; stable ones, which always are. */
const COUNTABLE: readonly Countable[] = builtInKinds.flatMap((kind) => {
  const isStored =
    kind.storedAs === undefined && kind.verbs.includes("list") && kind.verbs.includes("watch");
  if (!/^v\d+$/.test(kind.version)) return [];
  const measure = measureOf(kind);
  return isStored && kind.scope === "Namespaced" && measure !== undefined
    ? [{ kind, measure }]
    : [];
});

const BUILT_IN: ReadonlySet<string> = new Set(
  builtInKinds.map(({ group, names }) => `${group}/${names.plural}`),
);

/**
 * Recounts at that interval, and on changes. Of `resources` it counts those that are not built in, as
 * they are added and removed.
 */
export function resourceQuotaController(
  resyncMs = RESYNC_MS,
  resources = new ResourceSet(),
): Controller<QuotaState | undefined> {
  return defineController<QuotaState | undefined>({
    name: "resourcequota-controller",
    rule: "the used amounts in the status are what is there",
    feeds: [
      { kind: resourceQuotaKind, keys: ownKey, keysOfChange: quotaChanged },
      ...COUNTABLE.map((countable) => feedOf(countable)),
    ],
    discovered: {
      resources,
      feed: (resource) => {
        const countable = customCountable(resource);
        return countable === undefined ? undefined : newlyCounted(countable);
      },
    },
    observe: (caches, key) => {
      const custom = resources.all().flatMap((resource) => customCountable(resource) ?? []);
      return observe(caches, key, [...COUNTABLE, ...custom]);
    },
    decide: (state, nowMs) =>
      state === undefined ? idle : { ...decide(state, nowMs), recheckInMs: resyncMs },
  });
}

/** Ignores its own status writes, unless status.hard was changed. */
function quotaChanged({ next, old }: Change<ResourceQuota>): readonly Key[] {
  if (next === undefined) return [];
  if (
    old !== undefined &&
    semanticEqual(old.spec, next.spec) &&
    semanticEqual(next.spec.hard, next.status.hard)
  )
    return [];
  return ownKey(next);
}

/** Creations are charged by admission; what is counted here is what takes less, or something else. */
function feedOf({ kind, measure }: Countable): Feed {
  return {
    kind,
    keys: () => [],
    keysOfChange: ({ next, old }, caches) => {
      if (old === undefined) return [];
      return [...caches(resourceQuotaKind).list(old.metadata.namespace)]
        .filter(({ spec }) => Object.keys(spec.hard ?? {}).some((name) => measure.covers(name)))
        .filter((quota) => {
          const now = next === undefined ? {} : charge(quota, measure, next);
          return !semanticEqual(now, charge(quota, measure, old));
        })
        .flatMap(ownKey);
    },
  };
}

/** What the object costs under the quota. Time alone, which ends a charge too, changes no object. */
function charge(quota: ResourceQuota, measure: Measure, object: KubeObject, nowMs = 0): Amounts {
  return isInAllScopes(measure, quota, object) ? measure.usage(object, nowMs) : {};
}

function customCountable(resource: Resource): Countable | undefined {
  const { group, names, scope, verbs } = resource;
  if (scope !== "Namespaced" || BUILT_IN.has(`${group}/${names.plural}`)) return undefined;
  const isStored = ["create", "delete", "list", "watch"].every((verb) => verbs.includes(verb));
  return isStored ? { kind: resource, measure: objectCount(group, names.plural) } : undefined;
}

/** Objects of a resource that has just come may be there already: its quotas are counted afresh. */
function newlyCounted(countable: Countable): Feed {
  const { measure } = countable;
  return {
    ...feedOf(countable),
    keys: ({ metadata }, caches) =>
      [...caches(resourceQuotaKind).list(metadata.namespace)]
        .filter(({ spec }) => Object.keys(spec.hard ?? {}).some((name) => measure.covers(name)))
        .flatMap(ownKey),
  };
}

function observe(
  caches: Caches,
  { namespace, name }: Key,
  countable: readonly Countable[],
): QuotaState | undefined {
  const quota = caches(resourceQuotaKind).get(namespace, name);
  if (quota === undefined) return undefined;
  const names = Object.keys(quota.spec.hard ?? {});
  const counted = countable
    .filter(({ measure }) => names.some((n) => measure.covers(n)))
    .map(({ kind, measure }) => ({
      measure,
      objects: [...caches(kind).list(namespace)],
    }));
  return { quota, counted };
}

function decide({ quota, counted }: QuotaState, nowMs: number): Outcome {
  const hard = quota.spec.hard ?? {};
  const names = Object.keys(hard);
  let used: Amounts = Object.fromEntries(names.map((name) => [name, "0"]));
  for (const { measure, objects } of counted) {
    for (const object of objects) {
      const costs = charge(quota, measure, object, nowMs);
      const usage = Object.entries(costs).filter(([name]) => Object.hasOwn(hard, name));
      used = addAmounts(used, Object.fromEntries(usage));
    }
  }
  const status = names.length === 0 ? {} : { hard, used };
  return {
    writes: semanticEqual(quota.status, status)
      ? []
      : [updateStatus(resourceQuotaKind, { ...quota, status })],
  };
}
