/**
 * What a node has to do with: the pods bound to it and everything that they refer to.
 *
 * Promises:
 * 1. Nothing is kept but which pods are on which node, and that only once a node has asked: a server
 *    whose components run in its own process never pays for it.
 * 2. Everything else is looked up among the pods of the one node, at the time of the question.
 */

import type { PersistentVolume, Pod } from "#api/generated/core.v1.ts";
import { podCertificateRequestKind } from "#api/kinds/certificates/v1beta1/pod-certificate-request.ts";
import { persistentVolumeKind } from "#api/kinds/core/v1/persistent-volume/persistent-volume.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podConfigMapNames, podSecretNames } from "#api/kinds/core/v1/pod/references.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { resourceSliceKind } from "#api/kinds/resource/v1/resource-slice.ts";
import { volumeAttachmentKind } from "#api/kinds/storage/v1/volume-attachment.ts";
import type { Objects } from "../storage/objects.ts";

const MIRROR = "kubernetes.io/config.mirror";

export type RelatedType =
  | "configmap"
  | "persistentvolume"
  | "persistentvolumeclaim"
  | "pod"
  | "podcertificaterequest"
  | "resourceclaim"
  | "resourceslice"
  | "secret"
  | "serviceaccount"
  | "volumeattachment";

export class NodeObjects {
  readonly #objects: Objects;
  readonly #signal: AbortSignal;
  /** Node → keys of its pods; undefined until the first request of a node. */
  #podKeys: Map<string, Set<string>> | undefined;

  constructor(objects: Objects, signal: AbortSignal) {
    this.#objects = objects;
    this.#signal = signal;
  }

  isRelated(node: string, type: RelatedType, namespace: string, name: string): boolean {
    switch (type) {
      case "pod":
        return this.#objects.get(podKind, namespace, name)?.spec.nodeName === node;
      case "podcertificaterequest":
        return (
          this.#objects.get(podCertificateRequestKind, namespace, name)?.spec.nodeName === node
        );
      case "volumeattachment":
        return this.#objects.get(volumeAttachmentKind, "", name)?.spec.nodeName === node;
      case "resourceslice":
        return this.#objects.get(resourceSliceKind, "", name)?.spec.nodeName === node;
      case "persistentvolume":
        return this.#usesVolume(node, this.#objects.get(persistentVolumeKind, "", name));
      case "secret":
        return (
          this.#somePod(node, namespace, (pod) => podSecretNames(pod).includes(name)) ||
          this.#usesVolumeSecret(node, namespace, name)
        );
      case "configmap":
        return this.#somePod(node, namespace, (pod) => podConfigMapNames(pod).includes(name));
      case "serviceaccount":
        return this.#somePod(node, namespace, ({ spec }) => spec.serviceAccountName === name);
      case "persistentvolumeclaim":
        return this.#somePod(node, namespace, (pod) => claimNames(pod).includes(name));
      case "resourceclaim":
        return this.#somePod(node, namespace, (pod) => resourceClaimNames(pod).includes(name));
    }
  }

  #usesVolume(node: string, volume: PersistentVolume | undefined): boolean {
    const { namespace = "", name = "" } = volume?.spec.claimRef ?? {};
    return name !== "" && this.#somePod(node, namespace, (pod) => claimNames(pod).includes(name));
  }

  /** A volume may need a secret of its own to be mounted. */
  #usesVolumeSecret(node: string, namespace: string, name: string): boolean {
    return this.#podsOf(node).some((pod) =>
      claimNames(pod).some((claimName) => {
        const home = pod.metadata.namespace ?? "";
        const claim = this.#objects.get(persistentVolumeClaimKind, home, claimName);
        const volumeName = claim?.spec.volumeName ?? "";
        if (volumeName === "") return false;
        const volume = this.#objects.get(persistentVolumeKind, "", volumeName);
        const { claimRef } = volume?.spec ?? {};
        const bound = claimRef?.name === claimName && claimRef.namespace === home;
        return bound && volumeSecrets(volume!).has(`${namespace}/${name}`);
      }),
    );
  }

  #somePod(node: string, namespace: string, holds: (pod: Pod) => boolean): boolean {
    return this.#podsOf(node).some((pod) => pod.metadata.namespace === namespace && holds(pod));
  }

  /** A node makes the mirrors of its static pods itself: they must give it no access to anything. */
  #podsOf(node: string): Pod[] {
    this.#podKeys ??= this.#follow();
    const pods: Pod[] = [];
    for (const key of this.#podKeys.get(node) ?? []) {
      const [namespace = "", name = ""] = key.split("/");
      const pod = this.#objects.get(podKind, namespace, name);
      if (pod !== undefined && pod.metadata.annotations?.[MIRROR] === undefined) pods.push(pod);
    }
    return pods;
  }

  #follow(): Map<string, Set<string>> {
    const keys = new Map<string, Set<string>>();
    const keyOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.name}`;
    const add = (pod: Pod): void => {
      const node = pod.spec.nodeName;
      if (node) keys.set(node, (keys.get(node) ?? new Set()).add(keyOf(pod)));
    };
    const remove = (pod: Pod): void => {
      const ofNode = keys.get(pod.spec.nodeName ?? "");
      ofNode?.delete(keyOf(pod));
      if (ofNode?.size === 0) keys.delete(pod.spec.nodeName!);
    };
    const change = (next: Pod | undefined, old: Pod | undefined): void => {
      if (next?.spec.nodeName === old?.spec.nodeName) return;
      if (old !== undefined) remove(old);
      if (next !== undefined) add(next);
    };
    this.#objects.onChange(podKind, change, this.#signal);
    for (const pod of this.#objects.list(podKind)) add(pod);
    return keys;
  }
}

function claimNames({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    if (persistentVolumeClaim !== undefined) return [persistentVolumeClaim.claimName];
    return ephemeral === undefined ? [] : [`${metadata.name}-${name}`];
  });
}

/** Claims made from a template have names that only the status knows. */
function resourceClaimNames({ spec, status }: Pod): string[] {
  const made = new Map(
    (status.resourceClaimStatuses ?? []).map((one) => [one.name, one.resourceClaimName]),
  );
  const names = (spec.resourceClaims ?? []).map(
    ({ name, resourceClaimName }) => resourceClaimName ?? made.get(name),
  );
  const extended = status.extendedResourceClaimStatus?.resourceClaimName;
  return [...names, extended].filter((name) => name !== undefined && name !== "") as string[];
}

/** `namespace/name` of those that a kubelet needs. */
function volumeSecrets({ spec }: PersistentVolume): Set<string> {
  const home = spec.claimRef?.namespace ?? "";
  const { azureFile, csi } = spec;
  const refs = [
    spec.cephfs?.secretRef,
    spec.cinder?.secretRef,
    spec.flexVolume?.secretRef,
    spec.rbd?.secretRef,
    spec.scaleIO?.secretRef,
    spec.iscsi?.secretRef,
    spec.storageos?.secretRef,
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
    azureFile && { name: azureFile.secretName, namespace: azureFile.secretNamespace },
  ];
  return new Set(refs.flatMap((ref) => (ref ? [`${ref.namespace || home}/${ref.name}`] : [])));
}
