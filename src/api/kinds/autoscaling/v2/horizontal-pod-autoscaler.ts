/** autoscaling/v2 HorizontalPodAutoscaler: how many replicas a workload has, by what is measured. */

import { keepFields } from "#api/draft.ts";
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HPAScalingRules,
} from "#api/generated/autoscaling.v2.ts";
import { type Draft, defineKind } from "#api/kind.ts";
import { builtInSchema } from "#api/schema/from-facts.ts";
import { type FieldError, invalid, required } from "#api/validation/field-error.ts";
import { validateFinalizers, validateKubeMetaUpdate } from "#api/validation/kube-meta.ts";
import { nameIsDnsSubdomain } from "#api/validation/names.ts";
import { validateNonNegative } from "#api/validation/object-meta.ts";
import { Path } from "#api/validation/path.ts";
import { validateBehavior } from "./behavior.ts";
import { autoscalerColumns } from "./columns.ts";
import { validateMetrics } from "./metrics.ts";
import { apiVersionFault, validateObjectReference } from "./object-reference.ts";

export const DEFAULT_CPU_UTILIZATION = 80;

/** Annotations in which older versions carry what they have no fields for. */
export const ROUND_TRIP_ANNOTATIONS = {
  metrics: "autoscaling.alpha.kubernetes.io/metrics",
  behavior: "autoscaling.alpha.kubernetes.io/behavior",
  scaleDownTolerance: "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
  scaleUpTolerance: "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
  currentMetrics: "autoscaling.alpha.kubernetes.io/current-metrics",
  conditions: "autoscaling.alpha.kubernetes.io/conditions",
} as const;

export const horizontalPodAutoscalerKind = defineKind<HorizontalPodAutoscaler>({
  group: "autoscaling",
  version: "v2",
  names: {
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
    short: ["hpa"],
    categories: ["all"],
  },
  scope: "Namespaced",
  schema: builtInSchema("autoscaling.v2.HorizontalPodAutoscaler"),
  nameRule: nameIsDnsSubdomain,
  unconditionalUpdate: true,
  defaults: setDefaults,
  prepareCreate: (draft) => {
    draft.status = { desiredReplicas: 0, currentMetrics: null };
  },
  prepareUpdate: (draft, old) => keepFields(draft, old, "status"),
  validate: ({ metadata, spec }) => [
    ...validateFinalizers(metadata),
    ...validateSpec(spec, undefined),
  ],
  validateUpdate: (autoscaler, old) => [
    ...validateKubeMetaUpdate(autoscaler, old),
    ...validateSpec(autoscaler.spec, old.spec),
  ],
  subresources: {
    status: {
      prepareUpdate: (draft, old) => keepFields(draft, old, "spec"),
      validateUpdate: (autoscaler, old) => [
        ...validateKubeMetaUpdate(autoscaler, old),
        ...validateStatus(autoscaler),
      ],
    },
  },
  columns: autoscalerColumns,
});

const SCALE_UP: HPAScalingRules = {
  stabilizationWindowSeconds: 0,
  selectPolicy: "Max",
  policies: [
    { type: "Pods", value: 4, periodSeconds: 15 },
    { type: "Percent", value: 100, periodSeconds: 15 },
  ],
};
const SCALE_DOWN: HPAScalingRules = {
  selectPolicy: "Max",
  policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
};

function setDefaults({ metadata, spec }: Draft<HorizontalPodAutoscaler>): void {
  // They belong to other versions only; here they would soon contradict the fields.
  for (const key of Object.values(ROUND_TRIP_ANNOTATIONS)) delete metadata.annotations?.[key];
  if (metadata.annotations !== undefined && Object.keys(metadata.annotations).length === 0) {
    delete metadata.annotations;
  }
  spec.minReplicas ??= 1;
  if ((spec.metrics ?? []).length === 0) {
    const target = { type: "Utilization", averageUtilization: DEFAULT_CPU_UTILIZATION };
    spec.metrics = [{ type: "Resource", resource: { name: "cpu", target } }];
  }
  if (spec.behavior !== undefined) {
    spec.behavior.scaleUp = withDefaults(spec.behavior.scaleUp, SCALE_UP);
    spec.behavior.scaleDown = withDefaults(spec.behavior.scaleDown, SCALE_DOWN);
  }
}

function withDefaults(
  rules: Draft<HPAScalingRules> | undefined,
  defaults: HPAScalingRules,
): Draft<HPAScalingRules> {
  return { ...(structuredClone(defaults) as Draft<HPAScalingRules>), ...rules };
}

/** `old`: the stored spec on an update, whose oddities are let pass. */
function validateSpec(
  spec: HorizontalPodAutoscalerSpec,
  old: HorizontalPodAutoscalerSpec | undefined,
): FieldError[] {
  const path = Path.of("spec");
  const { minReplicas, maxReplicas, scaleTargetRef } = spec;
  const errors: FieldError[] = [];
  const minAllowed = old?.minReplicas === 0 ? 0 : 1;
  if (minReplicas !== undefined && minReplicas < minAllowed) {
    const detail = `must be greater than or equal to ${minAllowed}`;
    errors.push(invalid(path.child("minReplicas"), minReplicas, detail));
  }
  const maxPath = path.child("maxReplicas");
  if (maxReplicas === 0) errors.push(required(maxPath, "must be set and greater than 0"));
  if (maxReplicas < 0) {
    errors.push(invalid(maxPath, maxReplicas, "must be greater than or equal to 1"));
  }
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.push(invalid(maxPath, maxReplicas, "must be greater than or equal to `minReplicas`"));
  }
  const sameTarget =
    old !== undefined &&
    old.scaleTargetRef.apiVersion === scaleTargetRef.apiVersion &&
    old.scaleTargetRef.kind === scaleTargetRef.kind;
  errors.push(
    ...validateObjectReference(
      scaleTargetRef,
      {
        anyApiVersion: sameTarget,
        coreGroup: scaleTargetRef.kind === "ReplicationController",
      },
      path.child("scaleTargetRef"),
    ),
  );
  const oddDescribedObject = (old?.metrics ?? []).some(
    ({ type, object }) =>
      type === "Object" &&
      object !== undefined &&
      apiVersionFault(object.describedObject, { coreGroup: true }) !== undefined,
  );
  const references = { anyApiVersion: oddDescribedObject, coreGroup: true };
  errors.push(...validateMetrics(spec, references, path.child("metrics")));
  errors.push(...validateBehavior(spec.behavior, path.child("behavior")));
  return errors;
}

function validateStatus({ status }: HorizontalPodAutoscaler): FieldError[] {
  const path = Path.of("status");
  return [
    ...validateNonNegative(status.currentReplicas ?? 0, path.child("currentReplicas")),
    ...validateNonNegative(status.desiredReplicas, path.child("desiredReplicas")),
  ];
}
