/** pods/NAME/eviction: a delete that respects the pod's PodDisruptionBudget. */

import type { Pod } from "#api/generated/core.v1.ts";
import type { DeleteOptions, Status } from "#api/generated/meta.v1.ts";
import type { Eviction, PodDisruptionBudget } from "#api/generated/policy.v1.ts";
import type { Draft } from "#api/kind.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { podDisruptionBudgetKind } from "#api/kinds/policy/v1/pod-disruption-budget.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import {
  badRequestStatus,
  conflictStatus,
  failure,
  notFoundStatus,
  type Result,
  success,
  unknownStatus,
} from "#api/meta/status.ts";
import { schemaOf } from "#api/schema/from-facts.ts";
import type { SpecialVerbs } from "../request/dispatch.ts";
import { checkDeleteOptions, type WriteOptions } from "../request/query-options.ts";
import type { VerbRequest } from "../request/verb.ts";
import type { ApiValue } from "../response/answer.ts";
import type { Objects } from "../storage/objects.ts";
import { deleteObject } from "../write/write-object.ts";
import { takeFromBudget, tooManyEvictions } from "./disruption-budget.ts";
import { setPodCondition } from "./pod-conditions.ts";
import { CREATED, unstoredCreate } from "./unstored-create.ts";

export function evictionVerbs(objects: Objects): SpecialVerbs {
  const create = unstoredCreate<Eviction>({
    expect: () => ({
      kind: "Eviction",
      group: "policy",
      version: "v1",
      schema: schemaOf("policy.v1.Eviction"),
      alsoVersions: ["v1beta1"], // the same, as older clients send it
    }),
    validate: ({ metadata }, { info }) =>
      info.name === metadata?.name
        ? undefined
        : badRequestStatus("name in URL does not match name in Eviction object"),
    answer: (eviction, verb, options) => evict(objects, eviction, verb, options),
  });
  return { "/pods/eviction": { create } };
}

async function evict(
  objects: Objects,
  eviction: Eviction,
  verb: VerbRequest,
  { dryRun: asked }: WriteOptions,
): Promise<Result<ApiValue>> {
  const { info } = verb;
  const dryRun = asked || (eviction.deleteOptions?.dryRun ?? []).length > 0;
  const checked = checkOptions(eviction.deleteOptions, asked);
  if (!checked.ok) return checked;
  const pod = objects.get(podKind, info.namespace, info.name);
  if (pod === undefined) {
    return failure(notFoundStatus({ group: "", resource: "pods" }, info.name));
  }
  const options: DeleteOptions = {
    ...eviction.deleteOptions,
    ...(dryRun ? { dryRun: ["All"] } : {}),
  };
  const other = refuseOtherPod(pod, options.preconditions);
  if (other !== undefined) return failure(other);
  const counts = await askBudget(objects, pod, dryRun, verb.parts.clock.nowMs());
  if (!counts.ok) return counts;
  // A pod that does not count now must not have changed when it is deleted.
  const pinned =
    counts.value === "unchanged" && options.preconditions?.resourceVersion === undefined;
  const exact = pinned ? pinTo(options, pod) : options;
  const evicted = await markAndDelete(objects, pod, verb, exact, dryRun);
  if (evicted.ok) return success(CREATED);
  if (pinned && evicted.status.code === 409) return failure(tooManyEvictions(counts.budget));
  return evicted;
}

/** What the body says about a dry run must be what the request says, if both say something. */
function checkOptions(
  options: DeleteOptions | undefined,
  dryRun: boolean,
): Result<DeleteOptions | undefined> {
  const said = (options?.dryRun ?? []).join(" ");
  if (dryRun && said !== "" && said !== "All") {
    const why = `[All] and [${said}]`;
    return failure(unknownStatus(`Non-matching dry-run options in request and content: ${why}`));
  }
  return options === undefined ? success(undefined) : checkDeleteOptions(options);
}

type Budget =
  | { readonly ok: true; readonly value: "taken" | "unchanged" | "free"; readonly budget: string }
  | { readonly ok: false; readonly status: Status };

async function askBudget(
  objects: Objects,
  pod: Pod,
  dryRun: boolean,
  nowMs: number,
): Promise<Budget> {
  const { phase } = pod.status ?? {};
  const ended = phase === "Succeeded" || phase === "Failed";
  if (ended || pod.metadata.deletionTimestamp !== undefined) {
    return { ok: true, value: "free", budget: "" };
  }
  if (phase === "Pending") return { ok: true, value: "unchanged", budget: "" };
  const budgets = budgetsOf(objects, pod);
  const [budget] = budgets;
  if (budget === undefined) return { ok: true, value: "free", budget: "" };
  if (budgets.length > 1) {
    return failure(
      unknownStatus(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
      ),
    );
  }
  const name = budget.metadata.name ?? "";
  if (!isReady(pod) && mayGoUnhealthy(budget))
    return { ok: true, value: "unchanged", budget: name };
  const taken = await takeFromBudget(objects, budget, pod.metadata.name ?? "", dryRun, nowMs);
  return taken === undefined ? { ok: true, value: "taken", budget: name } : failure(taken);
}

function budgetsOf(objects: Objects, { metadata }: Pod): PodDisruptionBudget[] {
  const budgets = [...objects.list(podDisruptionBudgetKind, metadata.namespace)];
  return budgets.filter(({ spec }) => {
    const selector = selectorOf(spec?.selector);
    return selector.ok && matchesLabels(selector.value, metadata.labels);
  });
}

function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some((c) => c.type === "Ready" && c.status === "True");
}

function mayGoUnhealthy({ spec, status }: PodDisruptionBudget): boolean {
  if (spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

function pinTo(options: DeleteOptions, { metadata }: Pod): DeleteOptions {
  const resourceVersion = metadata.resourceVersion ?? "";
  return { ...options, preconditions: { ...options.preconditions, resourceVersion } };
}

async function markAndDelete(
  objects: Objects,
  pod: Pod,
  verb: VerbRequest,
  options: DeleteOptions,
  dryRun: boolean,
): Promise<Result<undefined>> {
  const { name = "", namespace = "" } = pod.metadata;
  let exact = options;
  if (!dryRun) {
    const nowMs = verb.parts.clock.nowMs();
    const marked = await objects.mutate(podKind, namespace, name, (draft) =>
      mark(draft, options, nowMs),
    );
    if (!marked.ok) return marked;
    if (options.preconditions?.resourceVersion !== undefined) exact = pinTo(options, marked.value);
  }
  const deleted = await deleteObject(verb, namespace, name, exact);
  return deleted.ok ? success(undefined) : deleted;
}

function mark(
  draft: Draft<Pod>,
  { preconditions }: DeleteOptions,
  nowMs: number,
): Status | undefined {
  const { name = "", resourceVersion } = draft.metadata;
  const other = refuseOtherPod(draft, preconditions);
  if (other !== undefined) return other;
  const conflict = (why: string): Status =>
    conflictStatus({ group: "", resource: "Pod" }, name, why);
  if (preconditions?.resourceVersion && preconditions.resourceVersion !== resourceVersion) {
    return conflict(
      `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    );
  }
  const condition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
  } as const;
  setPodCondition(draft, condition, nowMs);
  return undefined;
}

function refuseOtherPod(
  { metadata: { name = "", uid } }: Pick<Pod, "metadata">,
  preconditions: DeleteOptions["preconditions"],
): Status | undefined {
  if (!preconditions?.uid || preconditions.uid === uid) return undefined;
  const why = `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
  return conflictStatus({ group: "", resource: "Pod" }, name, why);
}
