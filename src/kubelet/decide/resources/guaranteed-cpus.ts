/** How many CPUs of its own a container gets under the static policy of the CPU manager. */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { quantityMilliValue, quantityOf } from "#api/meta/quantity.ts";
import { isSidecar } from "../restart.ts";

/** 0: it runs on the shared CPUs. */
export function guaranteedCpus(pod: Pod, { resources }: Container): number {
  if (hasPodLevelResources(pod) || qosClassOf(pod.spec) !== "Guaranteed") return 0;
  const cpu = resources?.requests?.cpu ?? resources?.limits?.cpu;
  const milli = cpu === undefined ? 0 : quantityMilliValue(quantityOf(cpu));
  return milli % 1000 === 0 ? milli / 1000 : 0;
}

/** The most CPUs that the pod has at any moment. */
export function podGuaranteedCpus(pod: Pod): number {
  let [byInit, bySidecars] = [0, 0];
  for (const container of pod.spec.initContainers ?? []) {
    const cpus = guaranteedCpus(pod, container);
    if (isSidecar(container)) bySidecars += cpus;
    else byInit = Math.max(byInit, bySidecars + cpus);
  }
  const byApp = (pod.spec.containers ?? []).reduce((sum, one) => sum + guaranteedCpus(pod, one), 0);
  return Math.max(byInit, byApp + bySidecars);
}

/** Such pods are not aligned: PodLevelResourceManagers is off in 1.36. */
export function hasPodLevelResources({ spec }: Pod): boolean {
  const names = Object.keys({ ...spec.resources?.requests, ...spec.resources?.limits });
  return names.some((name) => name === "cpu" || name === "memory" || name.startsWith("hugepages-"));
}
