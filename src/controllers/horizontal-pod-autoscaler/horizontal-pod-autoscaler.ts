/**
 * Scales the targets of HorizontalPodAutoscalers every 15 seconds by the values of the metrics APIs.
 *
 * Recent recommendations and changes are remembered between two looks. The memory belongs to one
 * running controller: a new one starts with what it finds and is careful to scale down.
 */

import type { HorizontalPodAutoscaler } from "#api/generated/autoscaling.v2.ts";
import type { Pod } from "#api/generated/core.v1.ts";
import { horizontalPodAutoscalerKind } from "#api/kinds/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { matchesLabels, parseSelector } from "#api/meta/label-selector.ts";
import { semanticEqual } from "#api/validation/immutable.ts";
import {
  type Caches,
  type Change,
  type Controller,
  defineController,
  idle,
  type Key,
  ownKey,
  type Reader,
  readOnly,
} from "#runtime/controller.ts";
import { measureAutoscalers } from "../metrics/services.ts";
import { findScale } from "../shared/scale-target.ts";
import { type AutoscalerState, decide, decideRefused, type Memory } from "./decide.ts";
import { type Measured, measure } from "./measurements.ts";
import { type AutoscalerSettings, DEFAULT_SETTINGS } from "./settings.ts";

export function horizontalPodAutoscaler(
  settings: AutoscalerSettings = DEFAULT_SETTINGS,
): Controller<AutoscalerState | undefined, Memory> {
  return defineController<AutoscalerState | undefined, Memory>({
    name: "horizontal-pod-autoscaler-controller",
    rule: "the replicas follow the metric that asks for most, within the limits and the behavior",
    component: "horizontal-pod-autoscaler",
    feeds: [
      // A new one has its first look when the pods that came with it have had time to be measured.
      {
        ...{ kind: horizontalPodAutoscalerKind, keys: ownKey, keysOfChange },
        delayMs: settings.periodMs,
      },
      readOnly(podKind),
    ],
    async observe(caches, { namespace, name }, reader, memory) {
      const autoscaler = caches(horizontalPodAutoscalerKind).get(namespace, name);
      return autoscaler && look(autoscaler, memory, caches, reader);
    },
    decide(state, nowMs) {
      if (state === undefined) return idle;
      const { outcome, memory } = decide(state, settings, nowMs);
      return { ...outcome, recheckInMs: settings.periodMs, remember: memory };
    },
    decideRefused: (state, refused, nowMs) =>
      state === undefined ? {} : decideRefused(state, settings, refused, nowMs),
    measure: measureAutoscalers,
  });
}

/** A status that was just written is no reason to look again before it is time. */
function keysOfChange({ next, old }: Change<HorizontalPodAutoscaler>): readonly Key[] {
  if (next === undefined) return old === undefined ? [] : ownKey(old);
  return old !== undefined && semanticEqual(next.spec, old.spec) ? [] : ownKey(next);
}

async function look(
  autoscaler: HorizontalPodAutoscaler,
  memory: Memory | undefined,
  caches: Caches,
  reader: Reader,
): Promise<AutoscalerState> {
  const { namespace = "" } = autoscaler.metadata;
  const { scaleTargetRef, metrics = [] } = autoscaler.spec;
  const scale = await findScale(reader, namespace, scaleTargetRef);
  const rivals = rivalsOf(autoscaler, caches);
  const nothing = { autoscaler, memory, scale, rivals, pods: [], measured: [] };
  if (!scale.ok || !scale.scale.spec.replicas) return nothing;
  const selector = scale.scale.status.selector ?? "";
  const parsed = parseSelector(selector);
  if (selector === "" || !parsed.ok) return nothing;
  const pods: readonly Pod[] = [...caches(podKind).list(namespace)].filter(({ metadata }) =>
    matchesLabels(parsed.value, metadata.labels),
  );
  const measured: Measured[] = [];
  for (const metric of metrics ?? []) {
    measured.push(await measure(reader, namespace, metric, selector));
  }
  return { autoscaler, memory, scale, rivals, pods, measured };
}

/** Others that scale the same thing: together they would only fight. */
function rivalsOf(autoscaler: HorizontalPodAutoscaler, caches: Caches): readonly string[] {
  const { namespace } = autoscaler.metadata;
  const { scaleTargetRef: own } = autoscaler.spec;
  const groupOf = (apiVersion = ""): string => apiVersion.replace(/\/?[^/]*$/, "");
  return [...caches(horizontalPodAutoscalerKind).list(namespace)]
    .filter(({ metadata, spec: { scaleTargetRef: ref } }) => {
      const same = ref.kind === own.kind && ref.name === own.name;
      const other = metadata.name !== autoscaler.metadata.name;
      return other && same && groupOf(ref.apiVersion) === groupOf(own.apiVersion);
    })
    .map(({ metadata }) => metadata.name ?? "");
}
