/** Which pods would have to leave a node so that a more important pod fits there. */
import type { PodDisruptionBudget } from "#api/generated/policy.v1.ts";
import { matchesLabels, selectorOf } from "#api/meta/label-selector.ts";
import { FITS, type Rejected, type Trial, unresolvable } from "#scheduler/plugin.ts";
import type { NodeInfo } from "#scheduler/snapshot/node-info.ts";
import type { PodInfo } from "#scheduler/snapshot/pod-info.ts";

export interface Candidate {
  readonly node: string;
  /** The most important one first. */
  readonly victims: readonly PodInfo[];
  /** Victims whose disruption budget does not allow it. */
  readonly violations: number;
}

const NO_VICTIMS = unresolvable("No preemption victims found for incoming pod");

/**
 * Removes every pod of lower priority, then puts back as many as possible, the most important ones
 * and those that a budget protects first.
 */
export function selectVictims(
  pod: PodInfo,
  node: NodeInfo,
  trialOf: (node: NodeInfo) => Trial,
  budgets: readonly PodDisruptionBudget[],
  nowMs: number,
): Candidate | Rejected {
  const lower: PodInfo[] = [];
  for (const other of node.pods.values()) if (other.priority < pod.priority) lower.push(other);
  if (lower.length === 0) return NO_VICTIMS;
  const trial = trialOf(node);
  for (const victim of lower) trial.remove(victim);
  const verdict = trial.verdict();
  if (verdict !== FITS) return verdict as Rejected;
  lower.sort((a, b) => byImportance(a, b, nowMs));
  const { protectedPods, others } = splitByBudgets(lower, budgets);
  const victims: PodInfo[] = [];
  const reprieve = (victim: PodInfo): boolean => {
    trial.add(victim);
    if (trial.verdict() === FITS) return true;
    trial.remove(victim);
    victims.push(victim);
    return false;
  };
  let violations = 0;
  for (const victim of protectedPods) if (!reprieve(victim)) violations += 1;
  for (const victim of others) reprieve(victim);
  victims.sort((a, b) => byImportance(a, b, nowMs));
  return { node: trial.node.name, victims, violations };
}

/** Higher priority first, then the one that has run longer. */
function byImportance(a: PodInfo, b: PodInfo, nowMs: number): number {
  return b.priority - a.priority || startMs(a, nowMs) - startMs(b, nowMs);
}

/** A pod that has not started yet counts as starting now. */
export function startMs(pod: PodInfo, nowMs: number): number {
  return pod.startMs ?? nowMs;
}

function splitByBudgets(
  pods: readonly PodInfo[],
  budgets: readonly PodDisruptionBudget[],
): { protectedPods: readonly PodInfo[]; others: readonly PodInfo[] } {
  if (budgets.length === 0) return { protectedPods: [], others: pods };
  const protectedPods: PodInfo[] = [];
  const others: PodInfo[] = [];
  const allowed = budgets.map(({ status }) => status?.disruptionsAllowed ?? 0);
  for (const pod of pods) {
    let isViolated = false;
    for (const [index, budget] of budgets.entries()) {
      if (!covers(budget, pod)) continue;
      allowed[index]! -= 1;
      if (allowed[index]! < 0) isViolated = true;
    }
    (isViolated ? protectedPods : others).push(pod);
  }
  return { protectedPods, others };
}

function covers({ metadata, spec, status }: PodDisruptionBudget, pod: PodInfo): boolean {
  if (metadata.namespace !== pod.namespace || Object.keys(pod.labels).length === 0) return false;
  const selector = selectorOf(spec?.selector ?? undefined);
  if (!selector.ok || selector.value.length === 0) return false;
  if (!matchesLabels(selector.value, pod.labels)) return false;
  return status?.disruptedPods?.[pod.name] === undefined;
}
