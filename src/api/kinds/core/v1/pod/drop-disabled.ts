/**
 * Fields of features that are off in this version: they are dropped from what is written, unless
 * the stored object uses them already.
 */
import type {
  Pod,
  PodSpec,
  PodStatus,
  PodTemplateSpec,
  VolumeProjection,
} from "#api/generated/core.v1.ts";
import type { Draft, RuleContext } from "#api/kind.ts";
import { allContainers } from "./containers/containers.ts";

const PROJECTION_FEATURES = {
  clusterTrustBundle: "ClusterTrustBundleProjection",
  podCertificate: "PodCertificateRequest",
} as const;

export function dropDisabledPodFields(
  pod: Draft<Pod>,
  context: RuleContext | undefined,
  old?: Pod,
): void {
  dropDisabledSpecFields(pod.spec, context, old?.spec);
  if (pod.status !== undefined) dropDisabledStatusFields(pod.status, old?.status);
}

export function dropDisabledTemplateFields(
  template: Draft<PodTemplateSpec> | undefined,
  context: RuleContext | undefined,
  old?: PodTemplateSpec,
): void {
  if (template !== undefined) dropDisabledSpecFields(template.spec, context, old?.spec);
}

export function dropDisabledStatusFields(
  status: Draft<PodStatus>,
  old: PodStatus | undefined,
): void {
  if ((old?.nodeAllocatableResourceClaimStatuses ?? []).length === 0) {
    delete status.nodeAllocatableResourceClaimStatuses;
  }
  if (old !== undefined && containerStatuses(old).some(hasVolumeStatus)) return;
  for (const { volumeMounts } of containerStatuses(status)) {
    for (const mount of volumeMounts ?? []) {
      if (mount.volumeStatus !== undefined) delete (mount as Draft<typeof mount>).volumeStatus;
    }
  }
}

function dropDisabledSpecFields(
  spec: Draft<PodSpec>,
  context: RuleContext | undefined,
  old: PodSpec | undefined,
): void {
  const features = context?.features ?? [];
  const disabled = (["clusterTrustBundle", "podCertificate"] as const).filter(
    (field) => !features.includes(PROJECTION_FEATURES[field]) && !projects(old, field),
  );
  for (const { projected } of spec.volumes ?? []) {
    for (const source of (projected?.sources ?? []) as Draft<VolumeProjection>[]) {
      for (const field of disabled) if (source[field] !== undefined) delete source[field];
    }
  }
  if (old?.schedulingGroup === undefined) delete spec.schedulingGroup;
  if (old === undefined || !stopsBySignal(old)) dropStopSignals(spec);
}

function projects(
  spec: PodSpec | undefined,
  field: "clusterTrustBundle" | "podCertificate",
): boolean {
  return (spec?.volumes ?? []).some(({ projected }) =>
    (projected?.sources ?? []).some((source) => source[field] !== undefined),
  );
}

function stopsBySignal(spec: PodSpec): boolean {
  return allContainers(spec).some(({ lifecycle }) => lifecycle?.stopSignal !== undefined);
}

/** A lifecycle that said nothing else goes too. */
function dropStopSignals(spec: Draft<PodSpec>): void {
  for (const container of allContainers(spec) as Draft<ReturnType<typeof allContainers>>) {
    const { lifecycle } = container;
    if (lifecycle?.stopSignal === undefined) continue;
    delete lifecycle.stopSignal;
    if (lifecycle.preStop === undefined && lifecycle.postStart === undefined) {
      delete container.lifecycle;
    }
  }
}

type Statuses = Pick<
  PodStatus,
  "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses"
>;

function containerStatuses(status: Statuses) {
  return [
    ...(status.containerStatuses ?? []),
    ...(status.initContainerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ];
}

function hasVolumeStatus({ volumeMounts = [] }: ReturnType<typeof containerStatuses>[number]) {
  return volumeMounts.some(({ volumeStatus }) => volumeStatus !== undefined);
}
