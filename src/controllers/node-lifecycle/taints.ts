/** The taints for a node's conditions, and how a node's list of taints is changed. */
import type { Node, Taint } from "#api/generated/core.v1.ts";
import { timeFromMs } from "#api/meta/time.ts";

export const NOT_READY = "node.kubernetes.io/not-ready";
export const UNREACHABLE = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE = "node.kubernetes.io/unschedulable";

/** Which status of which condition keeps pods away, under which key. */
const BY_CONDITION: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: "node.kubernetes.io/memory-pressure" },
  DiskPressure: { True: "node.kubernetes.io/disk-pressure" },
  NetworkUnavailable: { True: "node.kubernetes.io/network-unavailable" },
  PIDPressure: { True: "node.kubernetes.io/pid-pressure" },
};

const OWN_KEYS: ReadonlySet<string> = new Set([
  UNSCHEDULABLE,
  ...Object.values(BY_CONDITION).flatMap((keys) => Object.values(keys)),
]);

export function readyStatus({ status }: Node): string | undefined {
  return status.conditions?.find(({ type }) => type === "Ready")?.status;
}

/** The node's taints with those against scheduling that follow from its conditions; undefined if they do. */
export function schedulingTaints(
  { spec, status }: Node,
  nowMs: number,
): readonly Taint[] | undefined {
  const wanted = (status.conditions ?? []).flatMap(
    ({ type, status: is }) => BY_CONDITION[type]?.[is] ?? [],
  );
  if (spec.unschedulable) wanted.push(UNSCHEDULABLE);
  const taints = spec.taints ?? [];
  const isOwn = ({ key, effect }: Taint): boolean => effect === "NoSchedule" && OWN_KEYS.has(key);
  const outdated = taints.filter((taint) => isOwn(taint) && !wanted.includes(taint.key));
  const missing = [...new Set(wanted)].filter(
    (key) => !taints.some((taint) => isOwn(taint) && taint.key === key),
  );
  if (outdated.length === 0 && missing.length === 0) return undefined;
  return [
    ...taints.filter((taint) => !outdated.includes(taint)),
    ...missing.map((key): Taint => ({ key, effect: "NoSchedule", timeAdded: timeFromMs(nowMs) })),
  ];
}

/** The key of the taint that drives pods off the node. */
export function evictingTaint({ spec }: Node): typeof NOT_READY | typeof UNREACHABLE | undefined {
  const has = (key: string): boolean =>
    (spec.taints ?? []).some((taint) => taint.key === key && taint.effect === "NoExecute");
  if (has(UNREACHABLE)) return UNREACHABLE;
  return has(NOT_READY) ? NOT_READY : undefined;
}

/** The node with this one evicting taint, or none. */
export function withEvictingTaint(node: Node, key: string | undefined, nowMs: number): Node {
  const others = (node.spec.taints ?? []).filter(
    (taint) =>
      taint.effect !== "NoExecute" || (taint.key !== NOT_READY && taint.key !== UNREACHABLE),
  );
  return withTaints(
    node,
    key === undefined
      ? others
      : [...others, { key, effect: "NoExecute", timeAdded: timeFromMs(nowMs) }],
  );
}

export function withTaints(node: Node, taints: readonly Taint[]): Node {
  const { taints: _old, ...spec } = node.spec;
  return { ...node, spec: taints.length === 0 ? spec : { ...spec, taints } };
}
