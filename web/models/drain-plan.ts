/** What draining a node does with each of its pods, by the rules of `kubectl drain`. Pure. */
import type { PodObject } from "./kube-object.ts";

export interface DrainOptions {
  /** Also evict pods that no controller makes anew. */
  readonly force: boolean;
  /** Also evict pods whose emptyDir volumes are lost. */
  readonly deletesEmptyDirs: boolean;
}

export type DrainVerdict =
  | { readonly does: "evict"; readonly warning: string }
  | { readonly does: "stay"; readonly why: string }
  /** The drain cannot begin. */
  | { readonly does: "refuse"; readonly why: string };

export interface DrainStep {
  readonly pod: PodObject;
  readonly verdict: DrainVerdict;
}

const MIRROR = "kubernetes.io/config.mirror";

export function drainPlan(pods: readonly PodObject[], options: DrainOptions): readonly DrainStep[] {
  return pods.map((pod) => ({ pod, verdict: verdictOf(pod, options) }));
}

export function canDrain(steps: readonly DrainStep[]): boolean {
  return steps.every(({ verdict }) => verdict.does !== "refuse");
}

function verdictOf(pod: PodObject, { force, deletesEmptyDirs }: DrainOptions): DrainVerdict {
  const { annotations = {}, ownerReferences = [] } = pod.metadata;
  const phase = pod.status?.phase;
  const isOver = phase === "Succeeded" || phase === "Failed";
  const controller = ownerReferences.find((owner) => owner.controller === true);
  if (Object.hasOwn(annotations, MIRROR)) return { does: "stay", why: "static pod of the node" };
  if (controller?.kind === "DaemonSet" && !isOver)
    return { does: "stay", why: "its DaemonSet would make it anew" };
  if (isOver) return { does: "evict", warning: "" };
  const losesData = (pod.spec?.volumes ?? []).some(({ emptyDir }) => emptyDir !== undefined);
  if (controller === undefined && !force)
    return { does: "refuse", why: "no controller would make it anew" };
  if (losesData && !deletesEmptyDirs)
    return { does: "refuse", why: "the data of its emptyDir volumes would be lost" };
  const warnings = [
    ...(controller === undefined ? ["no controller makes it anew"] : []),
    ...(losesData ? ["the data of its emptyDir volumes is lost"] : []),
  ];
  return { does: "evict", warning: warnings.join("; ") };
}
