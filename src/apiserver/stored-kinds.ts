/** The built-in kinds that the server itself reads and writes. */
import type { APIService } from "#api/generated/apiregistration.v1.ts";
import type { CertificateSigningRequest } from "#api/generated/certificates.v1.ts";
import type { Lease } from "#api/generated/coordination.v1.ts";
import type {
  ConfigMap,
  Endpoints,
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
} from "#api/generated/core.v1.ts";
import type { EndpointSlice } from "#api/generated/discovery.v1.ts";
import type { FlowSchema, PriorityLevelConfiguration } from "#api/generated/flowcontrol.v1.ts";
import type {
  Ingress,
  IngressClass,
  IPAddress,
  ServiceCIDR,
} from "#api/generated/networking.v1.ts";
import type { RuntimeClass } from "#api/generated/node.v1.ts";
import type { PodDisruptionBudget } from "#api/generated/policy.v1.ts";
import type { ResourceClaim, ResourceSlice } from "#api/generated/resource.v1.ts";
import type { PriorityClass } from "#api/generated/scheduling.v1.ts";
import type { CSIDriver, StorageClass, VolumeAttachment } from "#api/generated/storage.v1.ts";
import { defineKind, type KindOf, type KubeObject } from "#api/kind.ts";
import { findByPlural } from "#api/kinds.ts";

export const configMapKind = kind<ConfigMap>("", "v1", "ConfigMap", "configmaps");
export const limitRangeKind = kind<LimitRange>("", "v1", "LimitRange", "limitranges");
export const namespaceKind = kind<Namespace>("", "v1", "Namespace", "namespaces");
export const nodeKind = kind<Node>("", "v1", "Node", "nodes");
export const persistentVolumeKind = kind<PersistentVolume>(
  "",
  "v1",
  "PersistentVolume",
  "persistentvolumes",
);
export const persistentVolumeClaimKind = kind<PersistentVolumeClaim>(
  "",
  "v1",
  "PersistentVolumeClaim",
  "persistentvolumeclaims",
);
export const podKind = kind<Pod>("", "v1", "Pod", "pods");
export const resourceQuotaKind = kind<ResourceQuota>("", "v1", "ResourceQuota", "resourcequotas");
export const secretKind = kind<Secret>("", "v1", "Secret", "secrets");
export const serviceKind = kind<Service>("", "v1", "Service", "services");
export const serviceAccountKind = kind<ServiceAccount>(
  "",
  "v1",
  "ServiceAccount",
  "serviceaccounts",
);
export const certificateSigningRequestKind = kind<CertificateSigningRequest>(
  "certificates.k8s.io",
  "v1",
  "CertificateSigningRequest",
  "certificatesigningrequests",
);
export const leaseKind = kind<Lease>("coordination.k8s.io", "v1", "Lease", "leases");
export const flowSchemaKind = kind<FlowSchema>(
  "flowcontrol.apiserver.k8s.io",
  "v1",
  "FlowSchema",
  "flowschemas",
);
export const priorityLevelKind = kind<PriorityLevelConfiguration>(
  "flowcontrol.apiserver.k8s.io",
  "v1",
  "PriorityLevelConfiguration",
  "prioritylevelconfigurations",
);
export const ingressKind = kind<Ingress>("networking.k8s.io", "v1", "Ingress", "ingresses");
export const ingressClassKind = kind<IngressClass>(
  "networking.k8s.io",
  "v1",
  "IngressClass",
  "ingressclasses",
);
export const ipAddressKind = kind<IPAddress>("networking.k8s.io", "v1", "IPAddress", "ipaddresses");
export const serviceCidrKind = kind<ServiceCIDR>(
  "networking.k8s.io",
  "v1",
  "ServiceCIDR",
  "servicecidrs",
);
export const endpointsKind = kind<Endpoints>("", "v1", "Endpoints", "endpoints");
export const endpointSliceKind = kind<EndpointSlice>(
  "discovery.k8s.io",
  "v1",
  "EndpointSlice",
  "endpointslices",
);
export const apiServiceKind = kind<APIService>(
  "apiregistration.k8s.io",
  "v1",
  "APIService",
  "apiservices",
);
export const podDisruptionBudgetKind = kind<PodDisruptionBudget>(
  "policy",
  "v1",
  "PodDisruptionBudget",
  "poddisruptionbudgets",
);
export const runtimeClassKind = kind<RuntimeClass>(
  "node.k8s.io",
  "v1",
  "RuntimeClass",
  "runtimeclasses",
);
export const resourceClaimKind = kind<ResourceClaim>(
  "resource.k8s.io",
  "v1",
  "ResourceClaim",
  "resourceclaims",
);
export const resourceSliceKind = kind<ResourceSlice>(
  "resource.k8s.io",
  "v1",
  "ResourceSlice",
  "resourceslices",
);
export const priorityClassKind = kind<PriorityClass>(
  "scheduling.k8s.io",
  "v1",
  "PriorityClass",
  "priorityclasses",
);
export const csiDriverKind = kind<CSIDriver>("storage.k8s.io", "v1", "CSIDriver", "csidrivers");
export const storageClassKind = kind<StorageClass>(
  "storage.k8s.io",
  "v1",
  "StorageClass",
  "storageclasses",
);
export const volumeAttachmentKind = kind<VolumeAttachment>(
  "storage.k8s.io",
  "v1",
  "VolumeAttachment",
  "volumeattachments",
);

function kind<T extends KubeObject>(
  group: string,
  version: string,
  name: string,
  plural: string,
): KindOf<T> {
  return (
    findByPlural(group, version, plural) ??
    defineKind<T>({
      group,
      version,
      names: { kind: name, plural },
      scope: "Namespaced",
      type: "",
      nameRule: () => [],
      columns: [],
    })
  );
}
