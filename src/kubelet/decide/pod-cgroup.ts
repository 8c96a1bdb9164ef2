/** The names of cgroups: one for all pods, one for each class of service below it, one for each pod. */
import type { Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";

export function kubepodsCgroup(root: string): string {
  return root === "/" || root === "" ? "/kubepods" : `${root}/kubepods`;
}

export function qosCgroups(root: string): {
  readonly burstable: string;
  readonly besteffort: string;
} {
  const top = kubepodsCgroup(root);
  return { burstable: `${top}/burstable`, besteffort: `${top}/besteffort` };
}

export function podCgroupName(root: string, pod: Pod): string {
  const { burstable, besteffort } = qosCgroups(root);
  const qos = pod.status?.qosClass ?? qosClassOf(pod.spec);
  const parent =
    qos === "Guaranteed" ? kubepodsCgroup(root) : qos === "Burstable" ? burstable : besteffort;
  return `${parent}/pod${pod.metadata.uid ?? ""}`;
}
