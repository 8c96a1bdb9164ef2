/** What follows from a step that was taken: writes, events, and when to try again. Pure. */
import type { LoadBalancerStatus, Service } from "#api/generated/core.v1.ts";
import { serviceKind } from "#api/kinds/core/v1/service/service.ts";
import { assertNever } from "#lib/assert-never.ts";
import { type EventNote, idle, type Outcome } from "#runtime/controller.ts";
import { noted, patch, type Write } from "#runtime/writes.ts";
import type { CloudResult } from "../cloud-call.ts";
import type { BalancedNodes } from "./balanced-nodes.ts";
import {
  balancerFingerprint,
  FINALIZER,
  hasFinalizer,
  sameStatus,
  withDefaults,
} from "./load-balancer-facts.ts";
import { attemptOf, type Failure, type ServiceMemory, type ServiceStep } from "./service-step.ts";

const RETRY_MIN_MS = 5_000;
const RETRY_MAX_MS = 300_000;
const NODE_NAMES_MAX = 20;
const NO_STATUS = "service status returned by EnsureLoadBalancer is nil";

export interface ServiceState {
  readonly step: ServiceStep;
  readonly nodes: BalancedNodes;
  readonly memory: ServiceMemory | undefined;
  readonly result: StepResult | undefined;
  /** The Service itself is gone. */
  readonly isGone: boolean;
}

export type StepResult =
  | { readonly of: "ensure"; readonly answer: CloudResult<LoadBalancerStatus> }
  /** `exists` is asked after a failure only. */
  | {
      readonly of: "update-nodes";
      readonly answer: CloudResult<void>;
      readonly exists: boolean;
    }
  | {
      readonly of: "remove";
      readonly found: CloudResult<boolean>;
      readonly answer: CloudResult<void> | undefined;
    };

export function decideService(state: ServiceState, nowMs: number): Outcome<ServiceMemory> {
  const { step, memory, result } = state;
  if (step.step === "none") {
    if (memory?.replaced === undefined) return idle;
    return { remember: { ...memory, replaced: undefined, failure: undefined } };
  }
  if (step.step === "wait") return { recheckInMs: Math.max(step.untilMs - nowMs, 0) };
  if (step.step === "add-finalizer") {
    const { service } = step;
    return {
      writes: [finalizerPatch(service, "add", { finalizers: [FINALIZER] })],
      events: [ensuring(service)],
      remember: { ...memory, announced: true },
    };
  }
  switch (result?.of) {
    case "ensure":
      return afterEnsure(state, step.service, result.answer, nowMs);
    case "update-nodes":
      return afterUpdate(state, step.service, result.answer, result.exists);
    case "remove":
      return afterRemove(state, step.service, result.found, result.answer, nowMs);
    case undefined:
      return idle;
    default:
      return assertNever(result);
  }
}

function afterEnsure(
  state: ServiceState,
  service: Service,
  answer: CloudResult<LoadBalancerStatus>,
  nowMs: number,
): Outcome<ServiceMemory> {
  const { memory, nodes } = state;
  const before = memory?.announced === true ? [] : [ensuring(service)];
  const noNodes = nodes.nodes.length === 0 ? [unavailable(service)] : [];
  const failedWith = (message: string, retryAfterMs?: number): Outcome<ServiceMemory> => {
    const failed = failure(state, service, message, retryAfterMs, nowMs);
    return { ...failed, events: [...before, ...noNodes, ...(failed.events ?? [])] };
  };
  if (!answer.ok && !answer.elsewhere) {
    return failedWith(`failed to ensure load balancer: ${answer.message}`, answer.retryAfterMs);
  }
  const spec = balancerFingerprint(service);
  const remember = { ensured: service, spec, nodes: nodes.fingerprint };
  if (!answer.ok) return { events: [...before, ...noNodes], remember };
  // Providers are written by others, and not always in TypeScript.
  const given: LoadBalancerStatus | undefined = answer.value;
  if (given === undefined) return failedWith(NO_STATUS);
  const ensured = normal(service, "EnsuredLoadBalancer", "Ensured load balancer");
  const events = [...before, ...noNodes, ensured];
  const writes = statusWrites(service, withDefaults(given));
  if (writes.length === 0) return { events, remember };
  // If the server refuses the status, the next attempt waits as after any other failure.
  const ifRefused = {
    replaced: service.status?.loadBalancer ?? {},
    failure: nextFailure(state, undefined, nowMs),
  };
  return { writes, events, remember: { ...remember, ...ifRefused } };
}

function afterUpdate(
  { memory, nodes }: ServiceState,
  service: Service,
  answer: CloudResult<void>,
  exists: boolean,
): Outcome<ServiceMemory> {
  const known = { ...memory, replaced: undefined, failure: undefined };
  const remember = { ...known, nodes: nodes.fingerprint };
  if (answer.ok) {
    const updated = normal(service, "UpdatedLoadBalancer", "Updated load balancer with new hosts");
    return { events: [nodes.nodes.length === 0 ? unavailable(service) : updated], remember };
  }
  if (answer.elsewhere || !exists) return { remember };
  const total = nodes.nodes.length;
  const message = `Error updating load balancer with new hosts ${namesOf(nodes)} [node names limited, total number of nodes: ${total}], error: ${answer.message}`;
  return {
    events: [warning(service, "UpdateLoadBalancerFailed", message)],
    // The next attempt makes the whole load balancer anew.
    remember: { ...known, spec: undefined },
    recheckInMs: 0,
  };
}

function afterRemove(
  state: ServiceState,
  service: Service,
  found: CloudResult<boolean>,
  answer: CloudResult<void> | undefined,
  nowMs: number,
): Outcome<ServiceMemory> {
  const deleting = normal(service, "DeletingLoadBalancer", "Deleting load balancer");
  if (!found.ok && !found.elsewhere) {
    const message = `failed to check if load balancer exists before cleanup: ${found.message}`;
    return failure(state, service, message, found.retryAfterMs, nowMs);
  }
  if (answer !== undefined && !answer.ok && !answer.elsewhere) {
    const { isGone } = state;
    const message = `${isGone ? "" : "failed to delete load balancer: "}${answer.message}`;
    const failed = failure(state, service, message, answer.retryAfterMs, nowMs);
    return { ...failed, events: [deleting, ...(failed.events ?? [])] };
  }
  const deleted = normal(service, "DeletedLoadBalancer", "Deleted load balancer");
  return {
    writes: state.isGone ? [] : cleanupWrites(service),
    events: [...(answer === undefined ? [] : [deleting]), deleted],
    remember: undefined,
  };
}

/** The finalizer last: without it the Service may be gone. */
function cleanupWrites(service: Service): readonly Write[] {
  const isLeaving = service.metadata.deletionTimestamp !== undefined;
  const changes = { "$deleteFromPrimitiveList/finalizers": [FINALIZER] };
  return [
    ...(isLeaving ? [] : statusWrites(service, {})),
    ...(hasFinalizer(service) ? [finalizerPatch(service, "remove", changes)] : []),
  ];
}

/** Through the status, as upstream: the roles of controllers have no right to change Services. */
function finalizerPatch(
  service: Service,
  verb: "add" | "remove",
  metadata: Readonly<Record<string, unknown>>,
): Write {
  const write = patch(serviceKind, service, "strategic", { metadata }, "status");
  const message = `failed to ${verb} load balancer cleanup finalizer: {error}`;
  return noted(write, { onRefused: syncFailed(service, message) });
}

function statusWrites(service: Service, wanted: LoadBalancerStatus): readonly Write[] {
  if (sameStatus(service.status?.loadBalancer ?? {}, wanted)) return [];
  // A merge patch replaces the list; null takes it away.
  const loadBalancer = { ingress: wanted.ingress ?? null };
  const write = patch(serviceKind, service, "merge", { status: { loadBalancer } }, "status");
  const onRefused = syncFailed(service, "failed to update load balancer status: {error}");
  return [noted(write, { onRefused, noEventFor: "NotFound" })];
}

/** Tried again later, each time after twice as long, or when the cloud wants it. */
function failure(
  state: ServiceState,
  service: Service,
  message: string,
  retryAfterMs: number | undefined,
  nowMs: number,
): Outcome<ServiceMemory> {
  const failed = nextFailure(state, retryAfterMs, nowMs);
  const event = state.isGone
    ? warning(service, "DeleteLoadBalancerFailed", `Error deleting load balancer: ${message}`)
    : syncFailed(service, message);
  return {
    events: [event],
    remember: { ...state.memory, announced: false, failure: failed },
    recheckInMs: failed.retryAtMs - nowMs,
  };
}

/** A time that the cloud names does not count as an attempt. */
function nextFailure(
  { memory, nodes, step }: ServiceState,
  retryAfterMs: number | undefined,
  nowMs: number,
): Failure {
  const before = memory?.failure?.count ?? 0;
  const delayMs = retryAfterMs ?? Math.min(RETRY_MIN_MS * 2 ** before, RETRY_MAX_MS);
  const count = retryAfterMs === undefined ? before + 1 : before;
  return { count, retryAtMs: nowMs + delayMs, of: attemptOf(step, nodes) };
}

function namesOf({ nodes }: BalancedNodes): string {
  const names = nodes.slice(0, NODE_NAMES_MAX).map(({ metadata }) => metadata.name ?? "");
  const more = nodes.length - names.length;
  return `[${[...names, ...(more > 0 ? [`<${more} more>`] : [])].join(" ")}]`;
}

function ensuring(service: Service): EventNote {
  return normal(service, "EnsuringLoadBalancer", "Ensuring load balancer");
}

function syncFailed(service: Service, message: string): EventNote {
  return warning(service, "SyncLoadBalancerFailed", `Error syncing load balancer: ${message}`);
}

function unavailable(service: Service): EventNote {
  const message = "There are no available nodes for LoadBalancer";
  return warning(service, "UnAvailableLoadBalancer", message);
}

function normal(about: Service, reason: string, message: string): EventNote {
  return { about, type: "Normal", reason, message };
}

function warning(about: Service, reason: string, message: string): EventNote {
  return { about, type: "Warning", reason, message };
}
