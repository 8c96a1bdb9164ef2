/** What an autoscaler measures, and the target for it. */

import type {
  HorizontalPodAutoscalerSpec,
  MetricIdentifier,
  MetricSpec,
  MetricTarget,
} from "#api/generated/autoscaling.v2.ts";
import { validateContainerResourceName } from "#api/kinds/core/v1/resources/resource-names.ts";
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
        ...validateTargetOf(field, target, path.child("target")),
      ];
    }
    case "external":
    case "pods": {
      const { metric: identifier, target } = metric[field]!;
      return [
        ...validateIdentifier(identifier, path.child("metric")),
        ...validateTargetOf(field, target, path.child("target")),
      ];
    }
    case "resource": {
      const { name, target } = metric.resource!;
      return [
        ...(name === "" ? [required(path.child("name"), "must specify a resource name")] : []),
        ...validateTargetOf(field, target, path.child("target")),
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
        ...validateTargetOf(field, target, path.child("target")),
      ];
    }
  }
}

type TargetField = "value" | "averageValue" | "averageUtilization";

/** The fields of a source's target: where none of them is set, or all are, one is blamed. */
interface TargetRule {
  readonly fields: readonly TargetField[];
  readonly none: { readonly blamed: TargetField; readonly detail: string };
  readonly all?: { readonly blamed: TargetField; readonly detail: string };
}

const RESOURCE_TARGET: TargetRule = {
  fields: ["averageUtilization", "averageValue"],
  none: {
    blamed: "averageUtilization",
    detail: "must set either a target raw value or a target utilization",
  },
  all: {
    blamed: "averageValue",
    detail: "may not set both a target raw value and a target utilization",
  },
};

const TARGET_RULES: Readonly<Record<SourceField, TargetRule>> = {
  object: {
    fields: ["value", "averageValue"],
    none: { blamed: "averageValue", detail: "must set either a target value or averageValue" },
  },
  external: {
    fields: ["value", "averageValue"],
    none: {
      blamed: "averageValue",
      detail: "must set either a target value for metric or a per-pod target",
    },
    all: {
      blamed: "value",
      detail: "may not set both a target value for metric and a per-pod target",
    },
  },
  pods: {
    fields: ["averageValue"],
    none: { blamed: "averageValue", detail: "must specify a positive target averageValue" },
  },
  resource: RESOURCE_TARGET,
  containerResource: RESOURCE_TARGET,
};

function validateTargetOf(source: SourceField, target: MetricTarget, path: Path): FieldError[] {
  const { fields, none, all } = TARGET_RULES[source];
  const set = fields.filter((field) => target[field] !== undefined);
  const errors = validateTarget(target, path);
  if (set.length === 0) errors.push(required(path.child(none.blamed), none.detail));
  if (all !== undefined && set.length === fields.length) {
    errors.push(forbidden(path.child(all.blamed), all.detail));
  }
  return errors;
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
