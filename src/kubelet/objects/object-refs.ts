/** Which ConfigMaps and Secrets a pod refers to. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { ObjectRef, ObjectSort } from "./watched-objects.ts";

export function objectRefs({ metadata, spec }: Pod): ObjectRef[] {
  const namespace = metadata.namespace ?? "";
  const refs = new Map<string, ObjectRef>();
  const add = (sort: ObjectSort, name: string | undefined): void => {
    if (name) refs.set(`${sort}/${name}`, { sort, namespace, name });
  };
  for (const { name } of spec.imagePullSecrets ?? []) add("Secret", name);
  for (const volume of spec.volumes ?? []) {
    add("ConfigMap", volume.configMap?.name);
    add("Secret", volume.secret?.secretName);
    for (const source of volume.projected?.sources ?? []) {
      add("ConfigMap", source.configMap?.name);
      add("Secret", source.secret?.name);
    }
    add("Secret", volume.csi?.nodePublishSecretRef?.name);
  }
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const { env = [], envFrom = [] } of containers) {
    for (const { configMapRef, secretRef } of envFrom) {
      add("ConfigMap", configMapRef?.name);
      add("Secret", secretRef?.name);
    }
    for (const { valueFrom } of env) {
      add("ConfigMap", valueFrom?.configMapKeyRef?.name);
      add("Secret", valueFrom?.secretKeyRef?.name);
    }
  }
  return [...refs.values()];
}
