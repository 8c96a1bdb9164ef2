/**
 * Which pods must end so that a critical pod finds room on the node: as few as possible, BestEffort
 * pods before Burstable before Guaranteed ones, and never a critical pod of the same priority.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { qosClassOf } from "#api/kinds/core/v1/pod/qos.ts";
import { quantityMilliValue, quantityOf, quantityValue } from "#api/meta/quantity.ts";
import { podRequests } from "#api/quota/pod-amounts.ts";
import { mayEvict } from "./eviction.ts";

/** By resource: how much is missing, in milli-CPUs, bytes or pieces. */
export type Missing = ReadonlyMap<string, number>;

export type PreemptionDecision =
  | { readonly ok: true; readonly pods: readonly Pod[] }
  /** What no set of pods can free. */
  | { readonly ok: false; readonly message: string };

export function decidePreemption(
  critical: Pod,
  others: readonly Pod[],
  missing: Missing,
): PreemptionDecision {
  const pods = others.filter((pod) => mayPreempt(critical, pod));
  const left = less(missing, pods);
  if (left.size > 0) {
    return {
      ok: false,
      message: `no set of running pods found to reclaim resources: ${text(left)}`,
    };
  }
  const [bestEffort, burstable, guaranteed] = ["BestEffort", "Burstable", "Guaranteed"].map((qos) =>
    pods.filter(({ spec }) => qosClassOf(spec) === qos),
  ) as [Pod[], Pod[], Pod[]];
  const third = nearest(guaranteed, less(missing, [...bestEffort, ...burstable]));
  const second = nearest(burstable, less(missing, [...bestEffort, ...third]));
  const first = nearest(bestEffort, less(missing, [...second, ...third]));
  return { ok: true, pods: [...first, ...second, ...third] };
}

function mayPreempt(critical: Pod, other: Pod): boolean {
  if (mayEvict(other)) return true;
  const [own, theirs] = [critical.spec.priority, other.spec.priority];
  return own !== undefined && theirs !== undefined && own > theirs;
}

/** One after the other the pod whose requests come nearest to what is missing. */
function nearest(pods: readonly Pod[], missing: Missing): Pod[] {
  const chosen: Pod[] = [];
  let left = missing;
  const candidates = [...pods];
  while (left.size > 0 && candidates.length > 0) {
    candidates.sort((a, b) => distance(a, left) - distance(b, left) || compareRequests(a, b));
    const [next] = candidates.splice(0, 1);
    chosen.push(next!);
    left = less(left, [next!]);
  }
  return chosen;
}

function less(missing: Missing, freed: readonly Pod[]): Missing {
  const left = [...missing].map(([name, amount]): [string, number] => [
    name,
    freed.reduce((rest, pod) => rest - requestOf(pod, name), amount),
  ]);
  return new Map(left.filter(([, amount]) => amount > 0));
}

/** Each resource counts the same, whatever its unit. */
function distance(pod: Pod, missing: Missing): number {
  return [...missing].reduce((sum, [name, amount]) => {
    const rest = amount - requestOf(pod, name);
    return rest > 0 ? sum + (rest / amount) ** 2 : sum;
  }, 0);
}

function compareRequests(a: Pod, b: Pod): number {
  return (
    requestOf(a, "memory") - requestOf(b, "memory") || requestOf(a, "cpu") - requestOf(b, "cpu")
  );
}

function requestOf(pod: Pod, name: string): number {
  if (name === "pods") return 1;
  const amount = podRequests(pod)[name];
  if (amount === undefined) return 0;
  return name === "cpu"
    ? quantityMilliValue(quantityOf(amount))
    : quantityValue(quantityOf(amount));
}

function text(missing: Missing): string {
  return `[${[...missing].map(([name, amount]) => `(res: ${name}, q: ${amount}), `).join("")}]`;
}
