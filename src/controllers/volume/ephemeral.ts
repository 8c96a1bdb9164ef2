/** Makes the claims of a pod's generic ephemeral volumes; they go with the pod. */

import type { PersistentVolumeClaim, Pod, Volume } from "#api/generated/core.v1.ts";
import { persistentVolumeClaimKind } from "#api/kinds/core/v1/persistent-volume-claim/persistent-volume-claim.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import {
  type Caches,
  defineController,
  type EventNote,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { create, noted, type Write } from "#runtime/writes.ts";
import { measureEphemeralVolumes } from "../metrics/volumes.ts";
import { foundByName } from "../shared/found-by-name.ts";
import { controllerReference } from "../shared/ownership.ts";
import { claimId, ephemeralClaimName, isOwnClaim, podsByClaim } from "./pod-claims.ts";

/** How soon to look again whether a foreign claim has made way. */
const CONFLICT_RECHECK_MS = 60_000;

export interface EphemeralState {
  readonly pod: Pod;
  /** Claims with the names of its ephemeral volumes, with any owner. */
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim>;
}

export const ephemeralVolumes = defineController<EphemeralState | undefined>({
  name: "ephemeral-volume-controller",
  rule: "an ephemeral volume has a claim that its pod owns",
  component: "ephemeral_volume",
  feeds: [
    { kind: podKind, keys: (pod: Pod) => (hasEphemeral(pod) ? ownKey(pod) : []) },
    { kind: persistentVolumeClaimKind, keys: keysOfClaim },
  ],
  indexes: [podsByClaim],
  observe(caches, { namespace, name }) {
    const pod = caches(podKind).get(namespace, name);
    if (pod === undefined) return undefined;
    const names = (pod.spec.volumes ?? []).map((volume) => ephemeralClaimName(pod, volume));
    return { pod, claims: foundByName(caches, persistentVolumeClaimKind, namespace, names) };
  },
  decide: (state) => (state === undefined ? idle : decide(state)),
  measure: measureEphemeralVolumes,
});

export function decide({ pod, claims }: EphemeralState): Outcome {
  if (pod.metadata.deletionTimestamp !== undefined) return idle;
  const writes: Write[] = [];
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.ephemeral === undefined) continue;
    const name = ephemeralClaimName(pod, volume);
    const claim = claims.get(name);
    const failed = (why: string): EventNote => ({
      about: pod,
      type: "Warning",
      reason: "FailedBinding",
      message: `ephemeral volume ${volume.name}: ${why}`,
    });
    if (claim === undefined) {
      const made = create(persistentVolumeClaimKind, claimFor(pod, volume, name));
      writes.push(noted(made, { onRefused: failed(`create PVC ${name}: {error}`) }));
    } else if (!isOwnClaim(pod, claim)) {
      const { namespace } = pod.metadata;
      const why = `PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`;
      return { writes, events: [failed(why)], recheckInMs: CONFLICT_RECHECK_MS };
    }
  }
  return { writes };
}

function claimFor(pod: Pod, { ephemeral }: Volume, name: string): PersistentVolumeClaim {
  const { labels, annotations } = ephemeral?.volumeClaimTemplate?.metadata ?? {};
  const { namespace } = pod.metadata;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [controllerReference(podKind, pod)],
    },
    spec: ephemeral?.volumeClaimTemplate?.spec ?? { resources: {} },
    status: {},
  };
}

function keysOfClaim({ metadata }: PersistentVolumeClaim, caches: Caches): readonly Key[] {
  const id = claimId(metadata.namespace, metadata.name ?? "");
  return [...caches(podKind).byIndex(podsByClaim.name, id)].filter(hasEphemeral).flatMap(ownKey);
}

function hasEphemeral({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some(({ ephemeral }) => ephemeral !== undefined);
}
