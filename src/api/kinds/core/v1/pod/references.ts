/** What a pod refers to by name. */
import type { Container, Pod, Volume } from "#api/generated/core.v1.ts";
import type { Draft } from "#api/kind.ts";

type AnyPod = Pick<Pod, "spec"> | Pick<Draft<Pod>, "spec">;
type Environment = Pick<Container, "env" | "envFrom">;

export function podSecretNames(pod: AnyPod): string[] {
  const { imagePullSecrets = [], volumes } = pod.spec;
  return unique([
    ...imagePullSecrets.map(({ name }) => name),
    ...environments(pod).flatMap(({ env = [], envFrom = [] }) => [
      ...envFrom.map(({ secretRef }) => secretRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
    ]),
    ...((volumes ?? []) as readonly Volume[]).flatMap(volumeSecrets),
  ]);
}

export function podConfigMapNames(pod: AnyPod): string[] {
  return unique([
    ...environments(pod).flatMap(({ env = [], envFrom = [] }) => [
      ...envFrom.map(({ configMapRef }) => configMapRef?.name),
      ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
    ]),
    ...((pod.spec.volumes ?? []) as readonly Volume[]).flatMap(({ configMap, projected }) => [
      configMap?.name,
      ...(projected?.sources ?? []).map((source) => source.configMap?.name),
    ]),
  ]);
}

function environments({ spec }: AnyPod): readonly Environment[] {
  return [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ] as readonly Environment[];
}

function volumeSecrets(volume: Volume): (string | undefined)[] {
  return [
    volume.secret?.secretName,
    ...(volume.projected?.sources ?? []).map(({ secret }) => secret?.name),
    volume.azureFile?.secretName,
    volume.csi?.nodePublishSecretRef?.name,
    ...[
      volume.cephfs,
      volume.cinder,
      volume.flexVolume,
      volume.rbd,
      volume.scaleIO,
      volume.iscsi,
      volume.storageos,
    ].map((source) => source?.secretRef?.name),
  ];
}

function unique(names: readonly (string | undefined)[]): string[] {
  return [...new Set(names.filter((name) => name !== undefined && name !== ""))] as string[];
}
