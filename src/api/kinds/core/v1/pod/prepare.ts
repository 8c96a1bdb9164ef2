/** What the server itself puts into pods, and takes out of them, before it judges them. */

import { assign, keep, keepMetadata } from "#api/draft.ts";
import type {
  Affinity,
  AppArmorProfile,
  Container,
  Pod,
  PodAffinityTerm,
  PodStatus,
} from "#api/generated/core.v1.ts";
import type { LabelSelector } from "#api/generated/meta.v1.ts";
import type { Draft, RuleContext } from "#api/kind.ts";
import { timeFromMs } from "#api/meta/time.ts";
import { jsonEqual } from "#api/patch/json-value.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import { Path } from "#api/validation/path.ts";
import { ownValue } from "#lib/own-value.ts";
import { allContainers } from "./containers/containers.ts";
import { defaultServiceAccount } from "./defaults.ts";
import { dropDisabledPodFields, dropDisabledStatusFields } from "./drop-disabled.ts";
import { qosClassOf } from "./qos.ts";
import { APPARMOR_PREFIX, appArmorProfileOf } from "./security/profiles.ts";
import { podSpecsEqual } from "./spec-equality.ts";

export function preparePodCreate(pod: Draft<Pod>, context: RuleContext): void {
  pod.metadata.generation = 1;
  defaultServiceAccount(pod.spec); // admission may have chosen one
  pod.status = { phase: "Pending", qosClass: pod.status?.qosClass || qosClassOf(pod.spec) };
  dropDisabledPodFields(pod, context);
  if ((pod.spec.schedulingGates ?? []).length > 0) {
    pod.status.conditions = [
      {
        type: "PodScheduled",
        status: "False",
        lastProbeTime: null,
        lastTransitionTime: timeFromMs(context.nowMs),
        reason: "SchedulingGated",
        message: "Scheduling is blocked due to non-empty scheduling gates",
      },
    ];
  }
  mergeLabelKeys(pod);
  copyAppArmorAnnotations(pod, context);
}

export function preparePodUpdate(pod: Draft<Pod>, old: Pod, context: RuleContext): void {
  keepStatus(pod, old);
  // Most writes leave the spec alone: then there is nothing to drop and nothing to count.
  if (jsonEqual(pod.spec, old.spec)) {
    pod.spec = keep(old.spec);
    return;
  }
  dropDisabledPodFields(pod, context, old);
  countSpecChange(pod, old);
}

/** Only the status, and of the metadata no more than kubelets may touch. */
export function preparePodStatus(pod: Draft<Pod>, old: Pod): void {
  pod.spec = keep(old.spec);
  delete pod.metadata.deletionTimestamp;
  assign(pod.metadata, "ownerReferences", keep(old.metadata.ownerReferences));
  if (!pod.status.qosClass && old.status.qosClass) pod.status.qosClass = old.status.qosClass;
  keepObservedGenerations(pod.status, old.status);
  dropDisabledStatusFields(pod.status, old.status);
}

export function prepareEphemeralContainers(pod: Draft<Pod>, old: Pod, context: RuleContext): void {
  const { ephemeralContainers } = pod.spec;
  pod.spec = { ...keep(old.spec) };
  assign(pod.spec, "ephemeralContainers", ephemeralContainers);
  keepStatus(pod, old);
  keepMetadata(pod, old);
  dropDisabledPodFields(pod, context, old);
  countSpecChange(pod, old);
}

/**
 * Keeps resources and resize policies of the request and nothing else. A request that adds, drops or
 * renames containers is left as it is, for validation to refuse.
 */
export function prepareResize(pod: Draft<Pod>, old: Pod, context: RuleContext): void {
  const { containers, initContainers = [], resources } = pod.spec;
  if (
    (containers ?? []).length === (old.spec.containers ?? []).length &&
    initContainers.length === (old.spec.initContainers ?? []).length
  ) {
    const regular = withResources(containers ?? [], old.spec.containers ?? []);
    const init = withResources(initContainers, old.spec.initContainers ?? []);
    pod.spec = { ...keep(old.spec), containers: regular };
    if (init.length > 0) pod.spec.initContainers = init;
    assign(pod.spec, "resources", resources);
    keepStatus(pod, old);
    keepMetadata(pod, old);
  }
  dropDisabledPodFields(pod, context, old);
  countSpecChange(pod, old);
}

function keepStatus(pod: Draft<Pod>, old: Pod): void {
  pod.status = keep(old.status);
}

function countSpecChange(pod: Draft<Pod>, old: Pod): void {
  if (podSpecsEqual(pod.spec, old.spec)) return;
  pod.metadata.generation = Number(old.metadata.generation ?? 0) + 1;
}

function withResources(next: Draft<Container>[], old: readonly Container[]): Draft<Container>[] {
  if (next.some(({ name }, i) => name !== old[i]!.name)) return next;
  return next.map(({ resources, resizePolicy }, i) => {
    const { resizePolicy: _, ...kept } = old[i] as Draft<Container>;
    return { ...kept, resources, ...(resizePolicy === undefined ? {} : { resizePolicy }) };
  });
}

/** A writer that does not know the field must not clear it. */
function keepObservedGenerations(status: Draft<PodStatus>, old: PodStatus): void {
  if (!status.observedGeneration && old.observedGeneration) {
    status.observedGeneration = old.observedGeneration;
  }
  const before = [...(old.conditions ?? [])];
  for (const condition of status.conditions ?? []) {
    const i = before.findIndex(({ type }) => type === condition.type);
    const generation = i < 0 ? 0 : (before.splice(i, 1)[0]!.observedGeneration ?? 0);
    if (!condition.observedGeneration && generation > 0) condition.observedGeneration = generation;
  }
}

/** Label keys become requirements of the selector beside them, with the pod's own values. */
function mergeLabelKeys({ spec, metadata: { labels = {} } }: Draft<Pod>): void {
  for (const term of podAffinityTerms(spec.affinity)) {
    mergeKeys(term.labelSelector, term.matchLabelKeys, "In", labels);
    mergeKeys(term.labelSelector, term.mismatchLabelKeys, "NotIn", labels);
  }
  for (const { labelSelector, matchLabelKeys } of spec.topologySpreadConstraints ?? []) {
    mergeKeys(labelSelector, matchLabelKeys, "In", labels);
  }
}

function podAffinityTerms(affinity: Draft<Affinity> | undefined): Draft<PodAffinityTerm>[] {
  if (affinity === undefined) return [];
  return [affinity.podAffinity, affinity.podAntiAffinity].flatMap((rules) => [
    ...(rules?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }) => podAffinityTerm,
    ),
    ...(rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
  ]);
}

function mergeKeys(
  selector: Draft<LabelSelector> | undefined,
  keys: readonly string[] | undefined,
  operator: "In" | "NotIn",
  labels: Readonly<Record<string, string>>,
): void {
  if (selector === undefined) return;
  for (const key of keys ?? []) {
    const value = ownValue(labels, key);
    if (value === undefined) continue;
    selector.matchExpressions ??= [];
    selector.matchExpressions.push({ key, operator, values: [value] });
  }
}

/** Profiles given as annotations become fields, so that nothing else has to know the annotations. */
function copyAppArmorAnnotations(pod: Draft<Pod>, { warn }: RuleContext): void {
  const { annotations } = pod.metadata;
  if (annotations === undefined || pod.spec.os?.name === "windows") return;
  const podProfile: AppArmorProfile | undefined = pod.spec.securityContext?.appArmorProfile;
  for (const container of allContainers(pod.spec) as Draft<Container>[]) {
    const key = `${APPARMOR_PREFIX}${container.name}`;
    const annotation = annotations[key];
    if (annotation === undefined || container.securityContext?.appArmorProfile !== undefined) {
      continue;
    }
    const profile = usableProfile(annotation);
    if (profile !== undefined && semanticEqual(profile, podProfile)) continue;
    if (profile !== undefined) {
      container.securityContext = { ...container.securityContext, appArmorProfile: profile };
    }
    const at = Path.of("metadata", "annotations").key(key);
    warn?.(`${at}: deprecated since v1.30; use the "appArmorProfile" field instead`);
  }
}

const LOCALHOST_PROFILE_MAX = 4095;

function usableProfile(annotation: string): Draft<AppArmorProfile> | undefined {
  const profile = appArmorProfileOf(annotation);
  const name = profile?.localhostProfile ?? "";
  return name.trim() === name && name.length <= LOCALHOST_PROFILE_MAX ? profile : undefined;
}
