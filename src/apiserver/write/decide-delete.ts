/**
 * What a DELETE does to an object: pure. Objects with a grace period (pods) are marked first and end
 * later; objects with finalizers are marked and end when the last one is taken away.
 */

import type { DeletionRules } from "#api/deletion-rules.ts";
import type { DeleteOptions } from "#api/generated/meta.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";

export type DeleteDecision =
  /** A deletion is under way and this one changes nothing. */
  | { readonly action: "pending" }
  | { readonly action: "remove" }
  /** Written with a deletionTimestamp, and stays. */
  | { readonly action: "mark"; readonly object: KubeObject }
  /** Written with a deletionTimestamp, so that watchers see it, then removed. */
  | { readonly action: "mark-and-remove"; readonly object: KubeObject };

const ORPHAN = "orphan";
const FOREGROUND = "foregroundDeletion";

export function decideDelete(
  object: KubeObject,
  options: DeleteOptions,
  rules: DeletionRules<KubeObject>,
  nowMs: number,
): DeleteDecision {
  if (rules.begin !== undefined && object.metadata.deletionTimestamp === undefined) {
    const begun = structuredClone(object) as Draft<KubeObject>;
    rules.begin(begun, nowMs);
    return { action: "mark", object: begun };
  }
  const next = { ...object, metadata: { ...object.metadata } } as Draft<KubeObject>;
  const grace = decideGrace(next, options, rules, nowMs);
  if (grace === "pending") return { action: "pending" };
  const finalizers = decideFinalizers(object, options, rules);
  if (finalizers.length > 0) next.metadata.finalizers = [...finalizers];
  else delete next.metadata.finalizers;
  const waits = finalizers.length > 0 || rules.isHeld?.(object) === true;
  if (grace === "none") {
    if (!waits) return { action: "remove" };
    markNow(next, nowMs);
    return { action: "mark", object: marked(next, rules) };
  }
  return { action: waits || grace > 0 ? "mark" : "mark-and-remove", object: next };
}

function marked(next: Draft<KubeObject>, { mark }: DeletionRules<KubeObject>): KubeObject {
  if (mark === undefined) return next;
  const own = structuredClone(next); // what lies below metadata is shared with the stored object
  mark(own);
  return own;
}

/** The grace period that the object now has, in seconds; it is marked then. */
function decideGrace(
  next: Draft<KubeObject>,
  options: DeleteOptions,
  rules: DeletionRules<KubeObject>,
  nowMs: number,
): number | "none" | "pending" {
  if (rules.graceSeconds === undefined) return "none";
  const meta = next.metadata;
  const asked = atLeastOne(options.gracePeriodSeconds);
  if (meta.deletionTimestamp !== undefined) {
    const current = atLeastOne(meta.deletionGracePeriodSeconds) ?? 0;
    if (current === 0) return "none";
    if (asked === undefined || asked >= current) return "pending";
    const begunMs = timeToMs(meta.deletionTimestamp ?? "") - current * 1000;
    const endMs = begunMs + asked * 1000;
    const late = endMs < nowMs;
    meta.deletionTimestamp = timeFromMs(Math.max(endMs, nowMs));
    meta.deletionGracePeriodSeconds = late && asked !== 0 ? 1 : asked;
    return asked;
  }
  const seconds = rules.graceSeconds(next, asked);
  meta.deletionTimestamp = timeFromMs(nowMs + seconds * 1000);
  meta.deletionGracePeriodSeconds = seconds;
  if ((meta.generation ?? 0) > 0) meta.generation = meta.generation! + 1;
  return seconds;
}

/** Negative grace periods count as one second. */
function atLeastOne(seconds: number | undefined): number | undefined {
  return seconds !== undefined && seconds < 0 ? 1 : seconds;
}

function markNow(next: Draft<KubeObject>, nowMs: number): void {
  const meta = next.metadata;
  if (meta.deletionTimestamp === undefined && (meta.generation ?? 0) > 0) {
    meta.generation = meta.generation! + 1;
  }
  if (meta.deletionTimestamp == null || timeToMs(meta.deletionTimestamp) > nowMs) {
    meta.deletionTimestamp = timeFromMs(nowMs);
  }
  meta.deletionGracePeriodSeconds = 0;
}

/** What the garbage collector has to do before the object may go is a finalizer, too. */
function decideFinalizers(
  { metadata }: KubeObject,
  { orphanDependents, propagationPolicy }: DeleteOptions,
  { garbageCollection = "delete" }: DeletionRules<KubeObject>,
): readonly string[] {
  const present = metadata.finalizers ?? [];
  const others = present.filter((name) => name !== ORPHAN && name !== FOREGROUND);
  if (garbageCollection === "unsupported") return others;
  const byObject = present.find((name) => name === ORPHAN || name === FOREGROUND);
  const byDefault = garbageCollection === "orphan" ? ORPHAN : undefined;
  const wanted =
    orphanDependents !== undefined
      ? orphanDependents && ORPHAN
      : propagationPolicy !== undefined
        ? POLICY_FINALIZERS[propagationPolicy]
        : (byObject ?? byDefault);
  const finalizers = wanted ? [...others, wanted] : others;
  const changed =
    finalizers.length !== present.length || finalizers.some((f) => !present.includes(f));
  return changed ? finalizers : present;
}

const POLICY_FINALIZERS: Readonly<Record<string, string | undefined>> = {
  Orphan: ORPHAN,
  Foreground: FOREGROUND,
};
