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
import type { Draft } from "#api/kind.ts";
import { allContainers } from "./containers/containers.ts";

export function dropDisabledPodFields(pod: Draft<Pod>, old?: Pod): void {
  dropDisabledSpecFields(pod.spec, old?.spec);
  if (pod.status !== undefined) dropDisabledStatusFields(pod.status, old?.status);
}

export function dropDisabledTemplateFields(
  template: Draft<PodTemplateSpec> | undefined,
  old?: PodTemplateSpec,
): void {
  if (template !== undefined) dropDisabledSpecFields(template.spec, old?.spec);
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

function dropDisabledSpecFields(spec: Draft<PodSpec>, old: PodSpec | undefined): void {
  for (const { projected } of spec.volumes ?? []) {
    for (const source of projected?.sources ?? []) dropDisabledProjections(source, old);
  }
  if (old?.schedulingGroup === undefined) delete spec.schedulingGroup;
  if (old === undefined || !stopsBySignal(old)) dropStopSignals(spec);
}

function dropDisabledProjections(source: Draft<VolumeProjection>, old: PodSpec | undefined): void {
  for (const field of ["clusterTrustBundle", "podCertificate"] as const) {
    if (source[field] !== undefined && !projects(old, field)) delete source[field];
  }
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
