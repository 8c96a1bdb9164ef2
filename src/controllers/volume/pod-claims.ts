/** Which claims a pod uses: those that it names and those that are made for it alone. */

import type { PersistentVolumeClaim, Pod, Volume } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { IndexSpec, Key } from "#runtime/controller.ts";
import { isControlledBy } from "../shared/ownership.ts";

/** Pods by `namespace/name` of the claims that they use. */
export const podsByClaim: IndexSpec<Pod> = {
  kind: podKind,
  name: "volumeClaim",
  values: (pod) => claimNamesOf(pod).map((name) => claimId(pod.metadata.namespace, name)),
};

export function claimId(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

export function claimKeysOf(pod: Pod): readonly Key[] {
  return claimNamesOf(pod).map((name) => ({ namespace: pod.metadata.namespace, name }));
}

export function claimNamesOf(pod: Pod): readonly string[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => claimNameOf(pod, volume) ?? []);
}

/** The claim behind a volume of a pod, if there is one. */
function claimNameOf(pod: Pod, volume: Volume): string | undefined {
  if (volume.persistentVolumeClaim !== undefined) return volume.persistentVolumeClaim.claimName;
  return volume.ephemeral === undefined ? undefined : ephemeralClaimName(pod, volume);
}

export function ephemeralClaimName(pod: Pod, volume: Volume): string {
  return `${pod.metadata.name}-${volume.name}`;
}

/** A claim that another made under the name of a pod's own is not the pod's. */
export function isOwnClaim(pod: Pod, claim: PersistentVolumeClaim): boolean {
  return claim.metadata.namespace === pod.metadata.namespace && isControlledBy(claim, pod);
}
