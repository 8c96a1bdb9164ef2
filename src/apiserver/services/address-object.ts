/** The IPAddress object that stands for a cluster address of a Service. */
import type { Service } from "#api/generated/core.v1.ts";
import type { IPAddress } from "#api/generated/networking.v1.ts";

export const MANAGED_BY = "ipallocator.k8s.io";
export const ADDRESS_LABELS = {
  family: "ipaddress.kubernetes.io/ip-family",
  managedBy: "ipaddress.kubernetes.io/managed-by",
} as const;

export function addressObject(name: string, { metadata }: Service): IPAddress {
  return {
    kind: "IPAddress",
    apiVersion: "networking.k8s.io/v1",
    metadata: {
      name,
      labels: {
        [ADDRESS_LABELS.family]: name.includes(":") ? "IPv6" : "IPv4",
        [ADDRESS_LABELS.managedBy]: MANAGED_BY,
      },
    },
    spec: {
      parentRef: {
        resource: "services",
        namespace: metadata.namespace ?? "",
        name: metadata.name ?? "",
      },
    },
  };
}
