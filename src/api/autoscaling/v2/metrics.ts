/** What an autoscaler measures, and the target for it. */
import { validateContainerResourceName } from "#api/core/v1/resource-names.ts";
import type {
  HorizontalPodAutoscalerSpec,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from "#api/generated/autoscaling.v2.ts";
import { quantityOf, quantitySign } from "#api/meta/quantity.ts";
import { invalidEach } from "#api/validation/faults.ts";
import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from "#api/validation/field-error.ts";
import { isDns1123Label, isPathSegmentName } from "#api/validation/names.ts";
import type { Path } from "#api/validation/path.ts";
import { type ReferenceOptions, validateObjectReference } from "./object-reference.ts";

/** The sources, in the order in which they are looked at, with the type that asks for each. */
const SOURCE_TYPES = {
  object: "Object",
  external: "External",
  pods: "Pods",
  resource: "Resource",
  containerResource: "ContainerResource",
} as const;
type SourceField = keyof typeof SOURCE_TYPES;
const SOURCE_FIELDS = Object.keys(SOURCE_TYPES) as SourceField[];
const METRIC_TYPES = Object.values(SOURCE_TYPES).sort();
const TARGET_TYPES = ["Utilization", "Value", "AverageValue"];

export function validateMetrics(
  { metrics = [], minReplicas }: HorizontalPodAutoscalerSpec,
  references: ReferenceOptions,
  path: Path,
): FieldError[] {
  const errors = metrics.flatMap((metric, i) => validateMetric(metric, references, path.index(i)));
  const wakesFromZero = metrics.some(({ type }) => type === "Object" || type === "External");
  if (minReplicas === 0 && !wakesFromZero) {
    const detail =
      "must specify at least one Object or External metric to support scaling to zero replicas";
    errors.push(forbidden(path, detail));
  }
  return errors;
}

function validateMetric(metric: MetricSpec, references: ReferenceOptions, path: Path) {
  const errors: FieldError[] = [];
  const typePath = path.child("type");
  const known = METRIC_TYPES.includes(metric.type as (typeof METRIC_TYPES)[number]);
  if (metric.type === "") errors.push(required(typePath, "must specify a metric source type"));
  if (!known) errors.push(notSupported(typePath, metric.type, METRIC_TYPES));

  const present = SOURCE_FIELDS.filter((field) => metric[field] !== undefined);
  if (present[0] !== undefined)
    errors.push(...validateSource(metric, present[0], references, path));

  const expected = SOURCE_FIELDS.find((field) => SOURCE_TYPES[field] === metric.type);
  if (expected === undefined) {
    errors.push(notSupported(typePath, metric.type, METRIC_TYPES));
  } else if (metric[expected] === undefined) {
    const detail = "must populate information for the given metric source";
    errors.push(required(path.child(expected), detail));
  }
  if (present.length !== 1) {
    for (const field of present.filter((field) => field !== expected)) {
      errors.push(forbidden(path.child(field), "must populate the given metric source only"));
    }
  }
  return errors;
}

function validateSource(
  metric: MetricSpec,
  field: SourceField,
  references: ReferenceOptions,
  parent: Path,
): FieldError[] {
  const path = parent.child(field);
  switch (field) {
    case "object": {
      const { describedObject, metric: identifier, target } = metric.object!;
      return [
        ...validateObjectReference(describedObject, references, path.child("describedObject")),
        ...validateIdentifier(identifier, path.child("metric")),
        ...validateTarget(target, path.child("target")),
        ...neither(
          target,
          ["value", "averageValue"],
          path,
          "averageValue",
          "must set either a target value or averageValue",
        ),
      ];
    }
    case "external": {
      const { metric: identifier, target } = metric.external!;
      return [
        ...validateIdentifier(identifier, path.child("metric")),
        ...validateTarget(target, path.child("target")),
        ...neither(
          target,
          ["value", "averageValue"],
          path,
          "averageValue",
          "must set either a target value for metric or a per-pod target",
        ),
        ...both(
          target,
          ["value", "averageValue"],
          path,
          "value",
          "may not set both a target value for metric and a per-pod target",
        ),
      ];
    }
    case "pods": {
      const { metric: identifier, target } = metric.pods!;
      return [
        ...validateIdentifier(identifier, path.child("metric")),
        ...validateTarget(target, path.child("target")),
        ...neither(
          target,
          ["averageValue"],
          path,
          "averageValue",
          "must specify a positive target averageValue",
        ),
      ];
    }
    case "resource": {
      const { name, target } = metric.resource!;
      return [
        ...(name === "" ? [required(path.child("name"), "must specify a resource name")] : []),
        ...validateResourceTarget(target, path),
      ];
    }
    case "containerResource": {
      const { name, container, target } = metric.containerResource!;
      const containerPath = path.child("container");
      return [
        ...(name === ""
          ? [required(path.child("name"), "must specify a resource name")]
          : validateContainerResourceName(name, path.child("name"))),
        ...(container === ""
          ? [required(containerPath, "must specify a container")]
          : invalidEach(containerPath, container, isDns1123Label(container))),
        ...validateResourceTarget(target, path),
      ];
    }
  }
}

function validateResourceTarget(target: MetricTarget, path: Path): FieldError[] {
  const fields = ["averageUtilization", "averageValue"] as const;
  return [
    ...validateTarget(target, path.child("target")),
    ...neither(
      target,
      fields,
      path,
      "averageUtilization",
      "must set either a target raw value or a target utilization",
    ),
    ...both(
      target,
      fields,
      path,
      "averageValue",
      "may not set both a target raw value and a target utilization",
    ),
  ];
}

type TargetField = "value" | "averageValue" | "averageUtilization";

function neither(
  target: MetricTarget,
  fields: readonly TargetField[],
  path: Path,
  blamed: TargetField,
  detail: string,
): FieldError[] {
  if (fields.some((field) => target[field] !== undefined)) return [];
  return [required(path.child("target", blamed), detail)];
}

function both(
  target: MetricTarget,
  fields: readonly TargetField[],
  path: Path,
  blamed: TargetField,
  detail: string,
): FieldError[] {
  if (fields.some((field) => target[field] === undefined)) return [];
  return [forbidden(path.child("target", blamed), detail)];
}

function validateTarget(target: MetricTarget, path: Path): FieldError[] {
  const { type, averageUtilization } = target;
  const errors: FieldError[] = [];
  if (type === "") errors.push(required(path.child("type"), "must specify a metric target type"));
  if (!TARGET_TYPES.includes(type)) {
    const detail = "must be either Utilization, Value, or AverageValue";
    errors.push(invalid(path.child("type"), type, detail));
  }
  for (const field of ["value", "averageValue"] as const) {
    const value = target[field];
    if (value !== undefined && quantitySign(quantityOf(value)) !== 1) {
      errors.push(invalid(path.child(field), value, "must be positive"));
    }
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(
      invalid(path.child("averageUtilization"), averageUtilization, "must be greater than 0"),
    );
  }
  return errors;
}

function validateIdentifier({ name }: MetricIdentifier, path: Path): readonly FieldError[] {
  if (name === "") return [required(path.child("name"), "must specify a metric name")];
  return invalidEach(path.child("name"), name, isPathSegmentName(name));
}
