/** What a pod says under the names of kube-state-metrics. Pure. */
import type { ContainerStatus, Pod } from "#api/generated/core.v1.ts";
import { timeToMs } from "#api/meta/time.ts";
import { type LabelValues, type StateFamilies, type StateSample, sample } from "./metric-family.ts";
import { resourceSamples } from "./resource-samples.ts";

const PHASES = ["Pending", "Succeeded", "Failed", "Unknown", "Running"];
const REASONS = ["Evicted", "NodeAffinity", "NodeLost", "Shutdown", "UnexpectedAdmissionError"];
const QOS_CLASSES = ["BestEffort", "Burstable", "Guaranteed"];

export const podFamilies: StateFamilies<Pod> = {
  kube_pod_info: (pod) => {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller);
    const { nodeName, priorityClassName, hostNetwork } = pod.spec;
    return sample(
      {
        ...labelsOf(pod),
        ...{ host_ip: pod.status?.hostIP ?? "", pod_ip: pod.status?.podIP ?? "" },
        node: nodeName ?? "",
        ...{ created_by_kind: owner?.kind ?? "", created_by_name: owner?.name ?? "" },
        priority_class: priorityClassName ?? "",
        host_network: String(hostNetwork === true),
      },
      1,
    );
  },
  kube_pod_owner: (pod) => {
    const owners = pod.metadata.ownerReferences ?? [];
    const none = { owner_kind: "", owner_name: "", owner_is_controller: "" };
    if (owners.length === 0) return sample({ ...labelsOf(pod), ...none }, 1);
    return owners.flatMap(({ kind, name, controller }) =>
      sample(
        {
          ...{ ...labelsOf(pod), owner_kind: kind, owner_name: name },
          owner_is_controller: String(controller === true),
        },
        1,
      ),
    );
  },
  kube_pod_created: (pod) => sample(labelsOf(pod), seconds(pod.metadata.creationTimestamp)),
  kube_pod_deletion_timestamp: (pod) =>
    sample(labelsOf(pod), seconds(pod.metadata.deletionTimestamp)),
  kube_pod_start_time: (pod) => sample(labelsOf(pod), seconds(pod.status?.startTime)),
  kube_pod_restart_policy: (pod) =>
    sample({ ...labelsOf(pod), type: pod.spec.restartPolicy ?? "Always" }, 1),
  kube_pod_status_phase: (pod) =>
    PHASES.flatMap((phase) =>
      sample({ ...labelsOf(pod), phase }, Number((pod.status?.phase ?? "Pending") === phase)),
    ),
  kube_pod_status_qos_class: (pod) =>
    QOS_CLASSES.flatMap((qos) =>
      sample({ ...labelsOf(pod), qos_class: qos }, Number(pod.status?.qosClass === qos)),
    ),
  kube_pod_status_reason: (pod) =>
    REASONS.flatMap((reason) =>
      sample({ ...labelsOf(pod), reason }, Number(pod.status?.reason === reason)),
    ),
  kube_pod_status_ready: (pod) => podCondition(pod, "Ready"),
  kube_pod_status_scheduled: (pod) => podCondition(pod, "PodScheduled"),
  kube_pod_status_unschedulable: (pod) => {
    const unschedulable = pod.status?.conditions?.some(
      ({ type, reason, status }) =>
        type === "PodScheduled" && status === "False" && reason === "Unschedulable",
    );
    return unschedulable === true ? sample(labelsOf(pod), 1) : [];
  },
  kube_pod_spec_volumes_persistentvolumeclaims_info: (pod) =>
    (pod.spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim: claim }) =>
      claim === undefined
        ? []
        : sample({ ...labelsOf(pod), volume: name, persistentvolumeclaim: claim.claimName }, 1),
    ),
  kube_pod_container_info: (pod) =>
    statuses(pod).flatMap(({ name, image, imageID, containerID = "" }) =>
      sample(
        {
          ...{ ...labelsOf(pod), container: name, image_spec: imageSpec(pod, name), image },
          ...{ image_id: imageID, container_id: containerID },
        },
        1,
      ),
    ),
  kube_pod_container_resource_requests: (pod) => containerResources(pod, "requests"),
  kube_pod_container_resource_limits: (pod) => containerResources(pod, "limits"),
  ...statusFamilies("kube_pod_container", statuses),
  ...statusFamilies("kube_pod_init_container", ({ status }) => status?.initContainerStatuses ?? []),
};

function statusFamilies(
  prefix: string,
  of: (pod: Pod) => readonly ContainerStatus[],
): StateFamilies<Pod> {
  const each =
    (
      value: (status: ContainerStatus) => number | undefined,
      more: (status: ContainerStatus) => LabelValues = noLabels,
    ) =>
    (pod: Pod): readonly StateSample[] =>
      of(pod).flatMap((status) =>
        sample({ ...containerLabels(pod, status), ...more(status) }, value(status)),
      );
  return {
    [`${prefix}_status_ready`]: each(({ ready }) => Number(ready)),
    [`${prefix}_status_restarts_total`]: each(({ restartCount }) => restartCount),
    [`${prefix}_status_running`]: each(({ state }) => Number(state?.running !== undefined)),
    [`${prefix}_status_waiting`]: each(({ state }) => Number(state?.waiting !== undefined)),
    [`${prefix}_status_terminated`]: each(({ state }) => Number(state?.terminated !== undefined)),
    [`${prefix}_status_waiting_reason`]: each(
      ({ state }) => (state?.waiting?.reason === undefined ? undefined : 1),
      ({ state }) => ({ reason: state?.waiting?.reason }),
    ),
    [`${prefix}_status_terminated_reason`]: each(
      ({ state }) => (state?.terminated?.reason === undefined ? undefined : 1),
      ({ state }) => ({ reason: state?.terminated?.reason }),
    ),
    [`${prefix}_status_last_terminated_reason`]: each(
      ({ lastState }) => (lastState?.terminated?.reason === undefined ? undefined : 1),
      ({ lastState }) => ({ reason: lastState?.terminated?.reason }),
    ),
  };
}

function noLabels(_status: ContainerStatus): LabelValues {
  return {};
}

function labelsOf({ metadata: { namespace, name, uid } }: Pod): LabelValues {
  return { namespace, pod: name, uid };
}

function containerLabels(pod: Pod, { name }: ContainerStatus): LabelValues {
  return { ...labelsOf(pod), container: name };
}

function statuses({ status }: Pod): readonly ContainerStatus[] {
  return status?.containerStatuses ?? [];
}

function imageSpec(pod: Pod, container: string): string {
  return pod.spec.containers?.find(({ name }) => name === container)?.image ?? "";
}

function containerResources(pod: Pod, which: "requests" | "limits"): readonly StateSample[] {
  return (pod.spec.containers ?? []).flatMap(({ name, resources }) =>
    resourceSamples(
      { ...labelsOf(pod), container: name, node: pod.spec.nodeName ?? "" },
      resources?.[which],
    ),
  );
}

function podCondition(pod: Pod, type: string): readonly StateSample[] {
  const found = pod.status?.conditions?.find((one) => one.type === type);
  if (found === undefined) return [];
  return ["true", "false", "unknown"].flatMap((condition) =>
    sample({ ...labelsOf(pod), condition }, Number(found.status.toLowerCase() === condition)),
  );
}

export function seconds(time: string | null | undefined): number | undefined {
  return time === null || time === undefined ? undefined : Math.floor(timeToMs(time) / 1000);
}
