/** Asks whether the node takes a pod. Pods that are refused fail, with a reason. */
import type { Pod } from "#api/generated/core.v1.ts";
import type { AdmissionVerdict } from "#kubelet/decide/node/admit-pod.ts";

export interface Admission {
  admit(pod: Pod): Promise<AdmissionVerdict>;
  /** Whether the node can give a pod that it has what its spec asks for now. */
  resize(pod: Pod): AdmissionVerdict;
}
