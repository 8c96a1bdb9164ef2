/** What namespaces, Services, volumes and quotas say under the names of kube-state-metrics. Pure. */
import type {
  Namespace,
  PersistentVolume,
  PersistentVolumeClaim,
  ResourceQuota,
  Service,
} from "#api/generated/core.v1.ts";
import { type LabelValues, type StateFamilies, sample } from "./metric-family.ts";
import { seconds } from "./pod-families.ts";
import { amountOf } from "./resource-samples.ts";

export const namespaceFamilies: StateFamilies<Namespace> = {
  kube_namespace_created: ({ metadata }) =>
    sample({ namespace: metadata.name }, seconds(metadata.creationTimestamp)),
  kube_namespace_status_phase: ({ metadata, status }) =>
    ["Active", "Terminating"].flatMap((phase) =>
      sample({ namespace: metadata.name, phase }, Number(status?.phase === phase)),
    ),
};

export const serviceFamilies: StateFamilies<Service> = {
  kube_service_info: (service) => {
    const { clusterIP = "", externalName = "", loadBalancerIP = "" } = service.spec;
    const addresses = {
      ...{ cluster_ip: clusterIP, external_name: externalName, load_balancer_ip: loadBalancerIP },
    };
    return sample({ ...serviceLabels(service), ...addresses }, 1);
  },
  kube_service_created: (service) =>
    sample(serviceLabels(service), seconds(service.metadata.creationTimestamp)),
  kube_service_spec_type: (service) =>
    sample({ ...serviceLabels(service), type: service.spec.type ?? "ClusterIP" }, 1),
};

export const claimFamilies: StateFamilies<PersistentVolumeClaim> = {
  kube_persistentvolumeclaim_info: (claim) => {
    const { storageClassName = "<none>", volumeName = "", volumeMode = "" } = claim.spec;
    const more = { storageclass: storageClassName, volumename: volumeName, volumemode: volumeMode };
    return sample({ ...claimLabels(claim), ...more }, 1);
  },
  kube_persistentvolumeclaim_access_mode: (claim) =>
    (claim.spec.accessModes ?? []).flatMap((mode) =>
      sample({ ...claimLabels(claim), access_mode: mode }, 1),
    ),
  kube_persistentvolumeclaim_resource_requests_storage_bytes: (claim) =>
    sample(claimLabels(claim), amountOf("storage", claim.spec.resources?.requests?.storage)),
  kube_persistentvolumeclaim_status_phase: (claim) =>
    ["Lost", "Bound", "Pending"].flatMap((phase) =>
      sample({ ...claimLabels(claim), phase }, Number(claim.status?.phase === phase)),
    ),
};

export const volumeFamilies: StateFamilies<PersistentVolume> = {
  kube_persistentvolume_capacity_bytes: ({ metadata, spec }) =>
    sample({ persistentvolume: metadata.name }, amountOf("storage", spec.capacity?.storage)),
  kube_persistentvolume_info: ({ metadata, spec }) =>
    sample({ persistentvolume: metadata.name, storageclass: spec.storageClassName ?? "" }, 1),
  kube_persistentvolume_claim_ref: ({ metadata, spec }) =>
    spec.claimRef === undefined
      ? []
      : sample(
          {
            persistentvolume: metadata.name,
            ...{ claim_namespace: spec.claimRef.namespace, name: spec.claimRef.name },
          },
          1,
        ),
  kube_persistentvolume_status_phase: ({ metadata, status }) =>
    ["Pending", "Available", "Bound", "Released", "Failed"].flatMap((phase) =>
      sample({ persistentvolume: metadata.name, phase }, Number(status?.phase === phase)),
    ),
};

export const quotaFamilies: StateFamilies<ResourceQuota> = {
  kube_resourcequota: ({ metadata: { namespace, name }, status }) =>
    (["hard", "used"] as const).flatMap((type) =>
      Object.entries(status?.[type] ?? {}).flatMap(([resource, text]) =>
        sample({ namespace, resourcequota: name, resource, type }, amountOf(resource, text)),
      ),
    ),
  kube_resourcequota_created: ({ metadata: { namespace, name, creationTimestamp } }) =>
    sample({ namespace, resourcequota: name }, seconds(creationTimestamp)),
};

function serviceLabels({ metadata: { namespace, name, uid } }: Service): LabelValues {
  return { namespace, service: name, uid };
}

function claimLabels({ metadata: { namespace, name } }: PersistentVolumeClaim): LabelValues {
  return { namespace, persistentvolumeclaim: name };
}
