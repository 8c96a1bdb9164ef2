/** The identity of a StatefulSet's pods: name, ordinal, labels, host name and claims. */

import type { ControllerRevision, StatefulSet } from "#api/generated/apps.v1.ts";
import type {
  PersistentVolumeClaim,
  Pod,
  PodTemplateSpec,
  Volume,
} from "#api/generated/core.v1.ts";
import { statefulSetKind } from "#api/kinds/apps/v1/stateful-set.ts";
import { controllerReference } from "../shared/ownership.ts";
import { podFromTemplate } from "../shared/pods.ts";

const REVISION_LABEL = "controller-revision-hash";
const POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name";
const POD_INDEX_LABEL = "apps.kubernetes.io/pod-index";

export function startOrdinal({ spec }: StatefulSet): number {
  return spec.ordinals?.start ?? 0;
}

export function isInRange(set: StatefulSet, ordinal: number): boolean {
  const start = startOrdinal(set);
  return ordinal >= start && ordinal < start + (set.spec.replicas ?? 1);
}

/** -1 for a pod whose name is none that the set would give. */
export function ordinalOf(set: StatefulSet, { metadata }: Pod): number {
  const match = /^(.*)-(\d+)$/.exec(metadata.name ?? "");
  return match !== null && match[1] === set.metadata.name ? Number(match[2]) : -1;
}

export function revisionOf({ metadata }: Pod): string {
  return metadata.labels?.[REVISION_LABEL] ?? "";
}

/** The template as a revision holds it. */
function templateOf({ data }: ControllerRevision): PodTemplateSpec {
  const { $patch: _, ...template } = (
    data as { spec: { template: PodTemplateSpec & { $patch?: string } } }
  ).spec.template;
  return template;
}

export function newPod(set: StatefulSet, revision: ControllerRevision, ordinal: number): Pod {
  const { generateName: _, ...metadata } = podFromTemplate(
    templateOf(revision),
    set,
    controllerReference(statefulSetKind, set),
  ).metadata;
  const name = `${set.metadata.name}-${ordinal}`;
  const template = templateOf(revision);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...metadata,
      name,
      generateName: `${set.metadata.name}-`,
      labels: {
        ...metadata.labels,
        [POD_NAME_LABEL]: name,
        [POD_INDEX_LABEL]: String(ordinal),
        [REVISION_LABEL]: revision.metadata.name ?? "",
      },
    },
    spec: {
      ...template.spec,
      hostname: name,
      ...(set.spec.serviceName === undefined || set.spec.serviceName === ""
        ? {}
        : { subdomain: set.spec.serviceName }),
      volumes: withClaims(set, template.spec.volumes ?? [], ordinal),
    },
    status: {},
  };
}

/** Labels and volumes as they should be; undefined if they are. */
export function repairedPod(set: StatefulSet, pod: Pod): Pod | undefined {
  const ordinal = ordinalOf(set, pod);
  const { name = "", labels } = pod.metadata;
  const named = labels?.[POD_NAME_LABEL] === name;
  const volumes = pod.spec.volumes ?? [];
  const claimed = claimsOf(set, ordinal).every(({ template, claim }) =>
    volumes.some(
      (v) => v.name === template && v.persistentVolumeClaim?.claimName === claim.metadata.name,
    ),
  );
  if (named && claimed) return undefined;
  const metadata = {
    ...pod.metadata,
    labels: { ...labels, [POD_NAME_LABEL]: name, [POD_INDEX_LABEL]: String(ordinal) },
  };
  return { ...pod, metadata, spec: { ...pod.spec, volumes: withClaims(set, volumes, ordinal) } };
}

function withClaims(
  set: StatefulSet,
  volumes: readonly Volume[],
  ordinal: number,
): readonly Volume[] {
  const claims = claimsOf(set, ordinal);
  const own = claims.map(({ template, claim }) => ({
    name: template,
    persistentVolumeClaim: { claimName: claim.metadata.name ?? "", readOnly: false },
  }));
  return [
    ...own,
    ...volumes.filter(({ name }) => !claims.some(({ template }) => template === name)),
  ];
}

export interface TemplatedClaim {
  readonly template: string;
  readonly claim: PersistentVolumeClaim;
}

/** The claims of one ordinal, named after template, set and ordinal. */
export function claimNamesOf(set: StatefulSet, ordinal: number): readonly string[] {
  return (set.spec.volumeClaimTemplates ?? []).map((template) =>
    claimName(set, template.metadata.name ?? "", ordinal),
  );
}

function claimName({ metadata }: StatefulSet, template: string, ordinal: number): string {
  return `${template}-${metadata.name}-${ordinal}`;
}

export function claimsOf(set: StatefulSet, ordinal: number): readonly TemplatedClaim[] {
  return (set.spec.volumeClaimTemplates ?? []).map((template) => {
    const name = template.metadata.name ?? "";
    const { namespace } = set.metadata;
    return {
      template: name,
      claim: {
        ...template,
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: {
          ...template.metadata,
          name: claimName(set, name, ordinal),
          ...(namespace === undefined ? {} : { namespace }),
          labels: { ...template.metadata.labels, ...set.spec.selector?.matchLabels },
        },
      },
    };
  });
}
