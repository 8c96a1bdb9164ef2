/** What a node may create: mirrors of its static pods, bound to it, owned by it, referring to nothing. */

import type { Pod, Volume } from "#api/generated/core.v1.ts";
import type { Status } from "#api/generated/meta.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podConfigMapNames, podSecretNames } from "#api/kinds/core/v1/pod/references.ts";
import { goQuote } from "#api/meta/go-quote.ts";
import { notFoundStatus } from "#api/meta/status.ts";
import type { Objects } from "../../../storage/objects.ts";

const MIRROR = "kubernetes.io/config.mirror";

export function mirrorPodFault(
  pod: Pod,
  node: string,
  objects: Objects,
): string | Status | undefined {
  const who = `node ${goQuote(node)}`;
  if (pod.metadata.annotations?.[MIRROR] === undefined) {
    return `pod does not have ${goQuote(MIRROR)} annotation, ${who} can only create mirror pods`;
  }
  if (pod.spec.nodeName !== node) {
    return `${who} can only create pods with spec.nodeName set to itself`;
  }
  const ownership = ownerFault(pod, node, objects);
  if (ownership !== undefined) return ownership;
  const referred = referredKind(pod);
  return referred === undefined
    ? undefined
    : `${who} can not create pods that reference ${referred}`;
}

function ownerFault(pod: Pod, node: string, objects: Objects): string | Status | undefined {
  const who = `node ${goQuote(node)}`;
  const [owner, ...others] = pod.metadata.ownerReferences ?? [];
  if (others.length > 0) {
    return `${who} can only create pods with a single owner reference set to itself`;
  }
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node) {
    return `${who} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true) {
    return `${who} can only create pods with a controller owner reference set to itself`;
  }
  if (owner.blockOwnerDeletion === true) {
    return `${who} must not set blockOwnerDeletion on an owner reference`;
  }
  const found = objects.get(nodeKind, "", node);
  if (found === undefined) return notFoundStatus({ group: "", resource: "node" }, node);
  return found.metadata.uid === owner.uid
    ? undefined
    : `node ${node} UID mismatch: expected ${owner.uid} got ${found.metadata.uid}`;
}

/** What the pod needs the API for, in the words of the refusal. */
function referredKind(pod: Pod): string | undefined {
  if (pod.spec.serviceAccountName) return "serviceaccounts";
  if (podSecretNames(pod).length > 0) return "secrets";
  if (podConfigMapNames(pod).length > 0) return "configmaps";
  if (pod.spec.resourceClaims?.length) return "resourceclaims";
  return (pod.spec.volumes ?? []).map(volumeReference).find((kind) => kind !== undefined);
}

function volumeReference(volume: Volume): string | undefined {
  if (volume.csi !== undefined) return "csidrivers (via CSI volumes)";
  if (volume.glusterfs !== undefined) return "endpoints (via glusterFS volumes)";
  if (volume.persistentVolumeClaim !== undefined) return "persistentvolumeclaims";
  if (volume.ephemeral !== undefined) return "persistentvolumeclaims (via ephemeral volumes)";
  for (const source of volume.projected?.sources ?? []) {
    if (source.serviceAccountToken !== undefined) return "serviceaccounts (via projected volumes)";
    if (source.clusterTrustBundle !== undefined) return "clustertrustbundles";
    if (source.podCertificate !== undefined) return "podcertificates";
  }
  return undefined;
}
