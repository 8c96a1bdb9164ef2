/**
 * Empties a namespace that is being deleted and lets it go. Pods go first, then everything else;
 * conditions say what is left. The namespace is gone when nothing is left in it.
 */

import type { Namespace, NamespaceCondition } from "#api/generated/core.v1.ts";
import { namespaceKind } from "#api/kinds/core/v1/namespace.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  because,
  defineController,
  idle,
  type Outcome,
  ownKey,
  type Resource,
} from "#runtime/controller.ts";
import { deleteAll, updateSubresource } from "#runtime/writes.ts";
import {
  type Content,
  isDeletable,
  isPods,
  listNamespaceContent,
  type NamespaceContent,
} from "./namespace-content.ts";
import { findCondition } from "./shared/conditions.ts";

const FINALIZER = "kubernetes";
const RECHECK_MIN_MS = 100;
const RECHECK_MAX_MS = 15_000;

export interface NamespaceState extends NamespaceContent {
  readonly namespace: Namespace;
}

export const namespaceController = defineController<NamespaceState | undefined>({
  name: "namespace-controller",
  rule: "a namespace that is deleted is emptied, then its finalizer is removed",
  feeds: [{ kind: namespaceKind, keys: ownKey }],
  workers: 10,
  observe: async (caches, key, reader, _remembered, moment) => {
    const namespace = caches(namespaceKind).get(undefined, key.name);
    if (namespace?.metadata.deletionTimestamp === undefined) return undefined;
    return { namespace, ...(await listNamespaceContent(key.name, reader, moment)) };
  },
  decide: (state, nowMs) => (state === undefined ? idle : decide(state, nowMs)),
});

function decide(state: NamespaceState, nowMs: number): Outcome {
  const { namespace, content, undiscovered, unlisted } = state;
  const finalizers = namespace.spec.finalizers ?? [];
  if (!finalizers.includes(FINALIZER)) return idle;

  const next: Namespace = {
    ...namespace,
    status: { ...namespace.status, phase: "Terminating", conditions: conditionsOf(state, nowMs) },
  };
  const statusWrites = semanticEqual(next.status, namespace.status)
    ? []
    : [updateSubresource(namespaceKind, next, "status")];
  if (content.length === 0 && undiscovered.length === 0 && unlisted.length === 0) {
    const left = finalizers.filter((finalizer) => finalizer !== FINALIZER);
    // One that others still hold back says that it is empty before it is let go here.
    if (left.length > 0 && statusWrites.length > 0) {
      return { writes: statusWrites, because: "nothing is left in it, but others hold it back" };
    }
    const released = { ...namespace, spec: { ...namespace.spec, finalizers: left } };
    return {
      writes: [updateSubresource(namespaceKind, released, "finalize")],
      because: "nothing is left in it",
    };
  }
  const pods = content.filter(({ resource }) => isPods(resource));
  const now = pods.length > 0 ? pods : content;
  const name = namespace.metadata.name ?? "";
  const deletable = now.filter(isDeletable);
  const rule = pods.length > 0 ? "pods go before all other content" : "its content is deleted";
  return because(rule, {
    writes: [...statusWrites, deletable.map(({ resource }) => deleteAll(resource, name))],
    // What was deleted just now is gone unless something holds it back: then there is time.
    recheckInMs: deletable.length > 0 ? RECHECK_MIN_MS : waitFor(now, nowMs),
  });
}

/** Until the first of them can be expected to be gone: pods have a grace period. */
function waitFor(content: readonly Content[], nowMs: number): number {
  const due = content
    .flatMap(({ objects }) => objects)
    .map(({ metadata }) => Date.parse(metadata.deletionTimestamp ?? "") - nowMs)
    .filter((leftMs) => leftMs > 0);
  return Math.min(RECHECK_MAX_MS, Math.max(1_000, Math.min(...due, RECHECK_MAX_MS)));
}

const CONDITIONS = [
  {
    type: "NamespaceDeletionDiscoveryFailure",
    bad: "DiscoveryFailed",
    good: "ResourcesDiscovered",
    message: "All resources successfully discovered",
  },
  {
    type: "NamespaceDeletionGroupVersionParsingFailure",
    bad: "GroupVersionParsingFailed",
    good: "ParsedGroupVersions",
    message: "All legacy kube types successfully parsed",
  },
  {
    type: "NamespaceDeletionContentFailure",
    bad: "ContentDeletionFailed",
    good: "ContentDeleted",
    message: "All content successfully deleted, may be waiting on finalization",
  },
  {
    type: "NamespaceContentRemaining",
    bad: "SomeResourcesRemain",
    good: "ContentRemoved",
    message: "All content successfully removed",
  },
  {
    type: "NamespaceFinalizersRemaining",
    bad: "SomeFinalizersRemain",
    good: "ContentHasNoFinalizers",
    message: "All content-preserving finalizers finished",
  },
] as const;

function conditionsOf(state: NamespaceState, nowMs: number): readonly NamespaceCondition[] {
  const problems: Record<string, string | undefined> = {
    NamespaceDeletionDiscoveryFailure: undiscoveredText(state.undiscovered),
    NamespaceDeletionContentFailure: unlistedText(state.unlisted),
    NamespaceContentRemaining: remaining(state.content),
    NamespaceFinalizersRemaining: finalizersRemaining(state.content),
  };
  const known = state.namespace.status.conditions ?? [];
  return CONDITIONS.map(({ type, bad, good, message }) => {
    const problem = problems[type];
    const status = problem === undefined ? "False" : "True";
    const old = findCondition(known, type);
    const lastTransitionTime =
      old?.status === status ? (old.lastTransitionTime ?? null) : timeFromMs(nowMs);
    return {
      type,
      status,
      lastTransitionTime,
      reason: problem === undefined ? good : bad,
      message: problem ?? message,
    };
  });
}

function undiscoveredText(groups: readonly string[]): string | undefined {
  if (groups.length === 0) return undefined;
  const why = `unable to retrieve the complete list of server APIs: ${[...groups].sort().join(", ")}`;
  return `Discovery failed for some groups, ${groups.length} failing: ${why}`;
}

function unlistedText(texts: readonly string[]): string | undefined {
  if (texts.length === 0) return undefined;
  return `Failed to delete all resource types, ${texts.length} remaining: ${[...texts].sort().join(", ")}`;
}

function remaining(content: readonly Content[]): string | undefined {
  if (content.length === 0) return undefined;
  const parts = content.map(
    ({ resource, objects }) => `${resourceText(resource)} has ${objects.length} resource instances`,
  );
  return `Some resources are remaining: ${parts.sort().join(", ")}`;
}

function finalizersRemaining(content: readonly Content[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { objects } of content) {
    for (const { metadata } of objects) {
      for (const finalizer of metadata.finalizers ?? [])
        counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
    }
  }
  if (counts.size === 0) return undefined;
  const parts = [...counts].map(
    ([finalizer, count]) => `${finalizer} in ${count} resource instances`,
  );
  return `Some content in the namespace has finalizers remaining: ${parts.sort().join(", ")}`;
}

function resourceText({ group, names }: Resource): string {
  return `${names.plural}.${group}`;
}
