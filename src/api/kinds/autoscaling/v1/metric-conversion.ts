/**
 * The metrics of autoscaling/v1, which stand as JSON in annotations, and those of v2. Each pair of
 * functions undoes the other; keys stand in the order in which the annotation is written.
 */
import type * as v1 from "#api/generated/autoscaling.v1.ts";
import type * as v2 from "#api/generated/autoscaling.v2.ts";

export function metricToV2(metric: v1.MetricSpec): v2.MetricSpec {
  const { type, object, pods, resource, containerResource, external } = metric;
  return present<v2.MetricSpec>({
    type,
    object: object && {
      describedObject: object.target,
      target: objectTarget(object),
      metric: present({ name: object.metricName, selector: object.selector }),
    },
    pods: pods && {
      metric: present({ name: pods.metricName, selector: pods.selector }),
      target: { type: "AverageValue", averageValue: pods.targetAverageValue },
    },
    resource: resource && { name: resource.name, target: resourceTarget(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      target: resourceTarget(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metric: present({ name: external.metricName, selector: external.metricSelector }),
      target: present({
        type: external.targetValue === undefined ? "AverageValue" : "Value",
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      }),
    },
  });
}

export function metricToV1(metric: v2.MetricSpec): v1.MetricSpec {
  const { type, object, pods, resource, containerResource, external } = metric;
  return present<v1.MetricSpec>({
    type,
    object:
      object &&
      present({
        target: object.describedObject,
        metricName: object.metric.name,
        targetValue: object.target.value ?? "0",
        selector: object.metric.selector,
        averageValue: object.target.averageValue,
      }),
    pods:
      pods &&
      present({
        metricName: pods.metric.name,
        targetAverageValue: pods.target.averageValue ?? "0",
        selector: pods.metric.selector,
      }),
    resource:
      resource &&
      present({
        name: resource.name,
        targetAverageUtilization: resource.target.averageUtilization,
        targetAverageValue: resource.target.averageValue,
      }),
    containerResource:
      containerResource &&
      present({
        name: containerResource.name,
        targetAverageUtilization: containerResource.target.averageUtilization,
        targetAverageValue: containerResource.target.averageValue,
        container: containerResource.container,
      }),
    external:
      external &&
      present({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        targetValue: external.target.value,
        targetAverageValue: external.target.averageValue,
      }),
  });
}

export function metricStatusToV2(status: v1.MetricStatus): v2.MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status;
  return present<v2.MetricStatus>({
    type,
    object: object && {
      metric: present({ name: object.metricName, selector: object.selector }),
      current: present({ value: object.currentValue, averageValue: object.averageValue }),
      describedObject: object.target,
    },
    pods: pods && {
      metric: present({ name: pods.metricName, selector: pods.selector }),
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && { name: resource.name, current: resourceCurrent(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      current: resourceCurrent(containerResource),
      container: containerResource.container,
    },
    external: external && {
      metric: present({ name: external.metricName, selector: external.metricSelector }),
      current: present({
        value: external.currentValue,
        averageValue: external.currentAverageValue,
      }),
    },
  });
}

export function metricStatusToV1(status: v2.MetricStatus): v1.MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status;
  return present<v1.MetricStatus>({
    type,
    object:
      object &&
      present({
        target: object.describedObject,
        metricName: object.metric.name,
        currentValue: object.current.value ?? "0",
        selector: object.metric.selector,
        averageValue: object.current.averageValue,
      }),
    pods:
      pods &&
      present({
        metricName: pods.metric.name,
        currentAverageValue: pods.current.averageValue ?? "0",
        selector: pods.metric.selector,
      }),
    resource:
      resource &&
      present({
        name: resource.name,
        currentAverageUtilization: resource.current.averageUtilization,
        currentAverageValue: resource.current.averageValue ?? "0",
      }),
    containerResource:
      containerResource &&
      present({
        name: containerResource.name,
        currentAverageUtilization: containerResource.current.averageUtilization,
        currentAverageValue: containerResource.current.averageValue ?? "0",
        container: containerResource.container,
      }),
    external:
      external &&
      present({
        metricName: external.metric.name,
        metricSelector: external.metric.selector,
        currentValue: external.current.value ?? "0",
        currentAverageValue: external.current.averageValue,
      }),
  });
}

function objectTarget({ targetValue, averageValue }: v1.ObjectMetricSource): v2.MetricTarget {
  if (averageValue === undefined) return { type: "Value", value: targetValue };
  const value = targetValue === "0" ? undefined : targetValue;
  return present({ type: "AverageValue", value, averageValue });
}

function resourceTarget(
  source: Pick<v1.ResourceMetricSource, "targetAverageUtilization" | "targetAverageValue">,
): v2.MetricTarget {
  return present({
    type: source.targetAverageUtilization === undefined ? "AverageValue" : "Utilization",
    averageValue: source.targetAverageValue,
    averageUtilization: source.targetAverageUtilization,
  });
}

function resourceCurrent(
  status: Pick<v1.ResourceMetricStatus, "currentAverageUtilization" | "currentAverageValue">,
): v2.MetricValueStatus {
  return present({
    averageValue: status.currentAverageValue,
    averageUtilization: status.currentAverageUtilization,
  });
}

type Sparse<T> = { [Key in keyof T]: T[Key] | undefined };

/** The record without the keys that have no value. */
function present<T extends object>(record: Sparse<T>): T {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
