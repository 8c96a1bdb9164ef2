/** How high the groups that are built in stand among all groups: the highest is listed first. */

const GROUP_PRIORITIES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    "": 18000,
    apps: 17800,
    "events.k8s.io": 17750,
    "authentication.k8s.io": 17700,
    "authorization.k8s.io": 17600,
    autoscaling: 17500,
    batch: 17400,
    "certificates.k8s.io": 17300,
    "networking.k8s.io": 17200,
    policy: 17100,
    "rbac.authorization.k8s.io": 17000,
    "storage.k8s.io": 16800,
    "apiextensions.k8s.io": 16700,
    "admissionregistration.k8s.io": 16700,
    "scheduling.k8s.io": 16600,
    "coordination.k8s.io": 16500,
    "node.k8s.io": 16300,
    "discovery.k8s.io": 16200,
    "resource.k8s.io": 16200,
    "flowcontrol.apiserver.k8s.io": 16100,
    "internal.apiserver.k8s.io": 16000,
    "storagemigration.k8s.io": 15700,
  }),
);

/** Of groups and versions that CustomResourceDefinitions define. */
export const CUSTOM_PRIORITIES = { groupPriorityMinimum: 1000, versionPriority: 100 } as const;

/** Undefined for groups that are not built in. */
export function builtInGroupPriority(group: string): number | undefined {
  return GROUP_PRIORITIES.get(group);
}
