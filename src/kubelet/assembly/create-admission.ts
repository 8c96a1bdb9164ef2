/**
 * Whether the node takes a pod. Pods are admitted one after the other, and one that was admitted
 * counts for the next at once. A critical pod that lacks nothing but resources ends others for them.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import {
  type AdmissionInputs,
  type AdmissionVerdict,
  decideAdmission,
} from "#kubelet/decide/node/admit-pod.ts";
import { mayEvict } from "#kubelet/decide/node/eviction.ts";
import type { Pressures } from "#kubelet/decide/node/node-status.ts";
import { decidePreemption, type Missing } from "#kubelet/decide/node/preemption.ts";
import type { KubeletOptions } from "#kubelet/kubelet-options.ts";
import { KeyedTurns } from "#kubelet/plugins/keyed-turns.ts";
import type { Admission } from "#kubelet/pods/admission.ts";
import type { PodWorkers } from "#kubelet/pods/pod-workers.ts";
import type { NodeParts } from "./create-node-parts.ts";
import type { OpenedMachine } from "./open-machine.ts";

export interface AdmissionSurroundings {
  readonly opened: OpenedMachine;
  readonly node: NodeParts;
  readonly workers: PodWorkers;
}

export function createAdmission(
  { config, clock }: KubeletOptions,
  { opened, node, workers }: AdmissionSurroundings,
): Admission {
  const { keeper, eviction, plugins, resources, shutdown } = node;
  const turns = new KeyedTurns();
  /** Admitted, but not yet counted by their workers. */
  const granted = new Map<string, Pod>();
  const others = (pod: Pod): Pod[] => {
    for (const uid of granted.keys()) {
      if (workers.isActive(uid) || !workers.has(uid)) granted.delete(uid);
    }
    const all = [...workers.active(), ...granted.values()];
    return all.filter((one) => one.metadata.uid !== pod.metadata.uid);
  };
  const inputs = (pod: Pod, pressures: Pressures): AdmissionInputs => ({
    ...{ pod, pressures, node: keeper.node, others: others(pod) },
    allocatable: { ...opened.amounts.allocatable, ...plugins.devices.allocatable() },
    allowedUnsafeSysctls: config.allowedUnsafeSysctls,
  });
  const decide = async (pod: Pod): Promise<AdmissionVerdict> => {
    if (shutdown.isShuttingDown) return SHUTTING_DOWN;
    const verdict = decideAdmission(inputs(pod, eviction.pressures));
    if (!verdict.admitted) {
      if (verdict.missing === undefined || mayEvict(pod)) return verdict;
      const why = await makeRoom(pod, verdict.missing);
      if (why !== undefined) return why;
    }
    const aligned = await resources.topology.admit(pod);
    if (aligned.admitted) granted.set(pod.metadata.uid ?? "", pod);
    return aligned;
  };
  /** Resolves when the pods have ended; otherwise why the critical pod cannot be admitted. */
  const makeRoom = async (pod: Pod, missing: Missing): Promise<AdmissionVerdict | undefined> => {
    const decision = decidePreemption(pod, others(pod), missing);
    if (!decision.ok) {
      const message = `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: ${decision.message}`;
      return { admitted: false, reason: "UnexpectedAdmissionError", message };
    }
    const uids = decision.pods.map(({ metadata }) => metadata.uid ?? "");
    for (const one of decision.pods) {
      opened.events.pod(one, "Warning", "Preempting", PREEMPTED);
      opened.measured.pods.preempted([...missing.keys()][0] ?? "");
      workers.end(one.metadata.uid ?? "", {
        ...{ reason: "Preempting", message: PREEMPTED },
        disruption: {
          reason: "TerminationByKubelet",
          message: "Pod was preempted by Kubelet to accommodate a critical pod.",
        },
      });
    }
    while (uids.some((uid) => workers.isActive(uid))) await clock.sleep(LOOK_MS);
    return undefined;
  };
  return {
    admit: async (pod) => {
      const verdict = await turns.run("", () => decide(pod));
      if (!verdict.admitted) opened.measured.pods.rejected(verdict.reason);
      return verdict;
    },
    resize: (pod) => decideAdmission(inputs(pod, NO_PRESSURE)),
  };
}

const LOOK_MS = 100;
const PREEMPTED = "Preempted in order to admit critical pod";
const SHUTTING_DOWN: AdmissionVerdict = {
  admitted: false,
  reason: "NodeShutdown",
  message: "Pod was rejected as the node is shutting down.",
};
/** Pods that run are resized under pressure too. */
const NO_PRESSURE: Pressures = { memory: false, disk: false, pid: false };
