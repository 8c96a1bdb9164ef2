/**
 * The next thing to do about a Service's load balancer. One step a reconcile: the finalizer is written
 * before the cloud is asked, and what the step changes leads to the next one.
 */
import type { LoadBalancerStatus, Service } from "#api/generated/core.v1.ts";
import type { BalancedNodes } from "./balanced-nodes.ts";
import {
  balancerFingerprint,
  hasFinalizer,
  needsCleanup,
  sameStatus,
  wantsLoadBalancer,
} from "./load-balancer-facts.ts";

export type ServiceStep =
  | { readonly step: "none" }
  /** The last attempt failed; the next may not be made before. */
  | { readonly step: "wait"; readonly untilMs: number }
  | { readonly step: "add-finalizer"; readonly service: Service }
  | { readonly step: "ensure"; readonly service: Service }
  | { readonly step: "update-nodes"; readonly service: Service }
  | { readonly step: "remove"; readonly service: Service };

/** What is known of a Service since an earlier reconcile. */
export interface ServiceMemory {
  /** As its load balancer was last made; for Services that go without a finalizer. */
  readonly ensured?: Service | undefined;
  /** Of what the load balancer was last made of. */
  readonly spec?: string | undefined;
  readonly nodes?: string | undefined;
  /** The status that the last write replaces. If it is still there, the server refused the write. */
  readonly replaced?: LoadBalancerStatus | undefined;
  /** The Event EnsuringLoadBalancer was recorded. */
  readonly announced?: boolean;
  readonly failure?: Failure | undefined;
}

export interface Failure {
  readonly count: number;
  readonly retryAtMs: number;
  /** What failed: if something else is wanted, there is no reason to wait. */
  readonly of: string;
}

export function decideServiceStep(
  service: Service | undefined,
  memory: ServiceMemory | undefined,
  nodes: BalancedNodes,
  nowMs: number,
): ServiceStep {
  const next = stepOf(service, memory, nodes);
  const { failure } = memory ?? {};
  if (next.step === "none" || failure === undefined) return next;
  const isSame = failure.of === attemptOf(next, nodes);
  return isSame && nowMs < failure.retryAtMs ? { step: "wait", untilMs: failure.retryAtMs } : next;
}

/** Identifies an attempt: the same step with the same input would fail again. */
export function attemptOf(step: ServiceStep, { fingerprint }: BalancedNodes): string {
  return "service" in step
    ? `${step.step} ${balancerFingerprint(step.service)} ${step.step === "remove" ? "" : fingerprint}`
    : step.step;
}

function stepOf(
  service: Service | undefined,
  memory: ServiceMemory | undefined,
  nodes: BalancedNodes,
): ServiceStep {
  const before = memory?.ensured;
  if (service === undefined || (before !== undefined && isAnother(before, service))) {
    // It was deleted after its finalizer was removed by another client.
    return before === undefined ? { step: "none" } : { step: "remove", service: before };
  }
  if (needsCleanup(service)) return { step: "remove", service };
  if (!wantsLoadBalancer(service)) {
    return before === undefined ? { step: "none" } : { step: "remove", service };
  }
  if (service.metadata.deletionTimestamp !== undefined) return { step: "none" };
  if (!hasFinalizer(service)) return { step: "add-finalizer", service };
  if (memory?.spec !== balancerFingerprint(service)) return { step: "ensure", service };
  // The server refused the status: the cloud is asked again, it may give another one.
  if (memory.replaced !== undefined && hasStatus(service, memory.replaced)) {
    return { step: "ensure", service };
  }
  if (memory.nodes !== nodes.fingerprint) return { step: "update-nodes", service };
  return { step: "none" };
}

function hasStatus({ status }: Service, expected: LoadBalancerStatus): boolean {
  return sameStatus(status?.loadBalancer ?? {}, expected);
}

function isAnother(a: Service, b: Service): boolean {
  return a.metadata.uid !== b.metadata.uid;
}
