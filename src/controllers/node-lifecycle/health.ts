/**
 * Watches each node's heartbeats: its lease and its status. A node that was silent for too long is
 * Unknown, its conditions become taints against scheduling, and its pods are not ready any more.
 *
 * The age of a heartbeat is measured by our own clock, so that nodes' clocks may be wrong; after a
 * start every node has the whole grace period again.
 */

import type { Lease } from "#api/generated/coordination.v1.ts";
import type { Node, NodeCondition, ObjectReference, Pod } from "#api/generated/core.v1.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs, timeToMs } from "#api/meta/time.ts";
import {
  because,
  type Caches,
  type Change,
  type Controller,
  defineController,
  type EventNote,
  idle,
  type Key,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { noted, update, updateStatus, type Write } from "#runtime/writes.ts";
import { measureNodeHealth } from "../metrics/nodes.ts";
import { PODS_BY_NODE, podsByNode } from "../shared/pods-by-node.ts";
import { readyStatus, schedulingTaints, withTaints } from "./taints.ts";

const LEASES = "kube-node-lease";
/** Thousands of nodes may come up at once, and no pod runs on one before its taint is gone. */
const WORKERS = 32;
/** The conditions that a kubelet reports; NetworkUnavailable is set by others. */
const KUBELET_CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] as const;
/** Old names of labels follow the new ones. */
const LABELS = [
  ["kubernetes.io/os", "beta.kubernetes.io/os"],
  ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
] as const;

export interface HealthOptions {
  readonly gracePeriodMs: number;
  /** For nodes that have not reported yet, from their creation on. */
  readonly startupGracePeriodMs: number;
}

/** The last heartbeat of a node, and when it was seen. */
interface Health {
  readonly uid: string;
  readonly heardMs: number;
  readonly heartbeat: string | undefined;
  readonly renewal: string | undefined;
}

export interface HealthState {
  readonly name: string;
  readonly node: Node | undefined;
  readonly lease: Lease | undefined;
  /** Pods of an unreachable node; empty for other nodes. */
  readonly pods: readonly Pod[];
  readonly known: Health | undefined;
}

export function nodeHealth(options: HealthOptions): Controller<HealthState, Health> {
  return defineController<HealthState, Health>({
    name: "node-lifecycle-controller",
    rule: "a node whose Lease and status are not renewed in time is Unknown, and its pods are not ready",
    component: "node-controller",
    workers: WORKERS,
    feeds: [
      { kind: nodeKind, keys: ownKey },
      {
        kind: leaseKind,
        keys: ({ metadata }: Lease) =>
          metadata.namespace === LEASES ? [{ name: metadata.name ?? "" }] : [],
      },
      { kind: podKind, keys: keysOfPod, keysOfChange: keysOfPodChange },
    ],
    indexes: [podsByNode],
    observe: (caches, { name }, _reader, known) => {
      const node = caches(nodeKind).get(undefined, name);
      const isLost = node !== undefined && readyStatus(node) === "Unknown";
      return {
        name,
        node,
        lease: caches(leaseKind).get(LEASES, name),
        pods: isLost ? [...caches(podKind).byIndex(PODS_BY_NODE, name)] : [],
        known,
      };
    },
    decide: (state, nowMs) => decide(state, options, nowMs),
    measure: measureNodeHealth,
  });
}

function keysOfPod({ spec }: Pod): readonly Key[] {
  return (spec.nodeName ?? "") === "" ? [] : [{ name: spec.nodeName! }];
}

/** Only new pods on a node matter, and only if the node is not ready. */
function keysOfPodChange({ next, old }: Change<Pod>, caches: Caches): readonly Key[] {
  if (next === undefined || next.spec.nodeName === old?.spec.nodeName) return [];
  return keysOfPod(next).filter(({ name }) => {
    const node = caches(nodeKind).get(undefined, name);
    return node !== undefined && readyStatus(node) === "Unknown";
  });
}

function decide(state: HealthState, options: HealthOptions, nowMs: number): Outcome<Health> {
  const { node, known, name } = state;
  if (node === undefined) {
    if (known === undefined) return idle;
    const events = [note(name, known.uid, "RemovingNode", `Removing Node ${name} from Controller`)];
    return { events, remember: undefined, because: "the node is gone" };
  }
  const uid = node.metadata.uid ?? "";
  const health = lastHeartbeat(node, state.lease, known, nowMs);
  const events =
    known === undefined
      ? [note(name, uid, "RegisteredNode", `Registered Node ${name} in Controller`)]
      : [];
  const graceMs =
    readyCondition(node) === undefined ? options.startupGracePeriodMs : options.gracePeriodMs;
  const silentAtMs = health.heardMs + graceMs + 1;
  const isSilent = nowMs >= silentAtMs;
  const lost = isSilent ? lostConditions(node, nowMs) : undefined;
  if (lost !== undefined) {
    const write = updateStatus(nodeKind, {
      ...node,
      status: { ...node.status, conditions: lost },
    });
    // What follows from the new conditions follows when they are seen.
    const rule = "neither its Lease nor its status was renewed in time: the node is Unknown";
    return {
      writes: [withNotReadyEvent(write, node)],
      ...{ events, remember: health, because: rule },
    };
  }
  const recheckInMs = isSilent ? undefined : silentAtMs - nowMs;
  const writes = [...nodeWrites(node, nowMs), ...batch(podWrites(node, state.pods, nowMs))];
  const rule =
    writes.length === 0
      ? "a node that was not known is registered"
      : "taints, labels and the readiness of pods follow the conditions of the node";
  return because(rule, {
    ...{ writes, events, remember: health },
    ...(recheckInMs === undefined ? {} : { recheckInMs }),
  });
}

function lastHeartbeat(
  node: Node,
  lease: Lease | undefined,
  known: Health | undefined,
  nowMs: number,
): Health {
  const ready = readyCondition(node);
  const heartbeat = ready === undefined ? undefined : (ready.lastHeartbeatTime ?? "");
  const renewal = lease?.spec.renewTime;
  const uid = node.metadata.uid ?? "";
  if (known === undefined || known.uid !== uid) {
    const isNew = ready === undefined && renewal === undefined;
    const heardMs = isNew ? timeToMs(node.metadata.creationTimestamp ?? "") : nowMs;
    return { uid, heardMs, heartbeat, renewal };
  }
  const isRenewed =
    renewal !== undefined &&
    (known.renewal === undefined || timeToMs(known.renewal) < timeToMs(renewal));
  // Our own writing of a first condition is no heartbeat.
  const reported = ready?.reason === "NodeStatusNeverUpdated" ? known.heartbeat : heartbeat;
  const heardMs = isRenewed || reported !== known.heartbeat ? nowMs : known.heardMs;
  return { uid, heardMs, heartbeat: reported, renewal: renewal ?? known.renewal };
}

/** The conditions of a node that is silent; undefined if they say so already. */
function lostConditions(node: Node, nowMs: number): readonly NodeCondition[] | undefined {
  if (readyStatus(node) === "Unknown") return undefined;
  const lastTransitionTime = timeFromMs(nowMs);
  const conditions = [...(node.status.conditions ?? [])];
  for (const type of KUBELET_CONDITIONS) {
    const at = conditions.findIndex((condition) => condition.type === type);
    if (at < 0) {
      conditions.push({
        type,
        status: "Unknown",
        reason: "NodeStatusNeverUpdated",
        message: "Kubelet never posted node status.",
        lastHeartbeatTime: node.metadata.creationTimestamp ?? null,
        lastTransitionTime,
      });
    } else if (conditions[at]!.status !== "Unknown") {
      conditions[at] = {
        ...conditions[at]!,
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
        lastTransitionTime,
      };
    }
  }
  return conditions;
}

function withNotReadyEvent(write: Write, node: Node): Write {
  if (readyStatus(node) !== "True") return write;
  const { name = "", uid = "" } = node.metadata;
  const message = `Node ${name} status is now: NodeNotReady`;
  const onDone: EventNote = {
    about: reference(name, uid),
    type: "Normal",
    reason: "NodeNotReady",
    message,
  };
  return noted(write, { onDone });
}

function nodeWrites(node: Node, nowMs: number): readonly Write[] {
  const taints = schedulingTaints(node, nowMs);
  const { labels = {} } = node.metadata;
  const moved = LABELS.filter(
    ([from, to]) => Object.hasOwn(labels, from) && labels[to] !== labels[from],
  );
  if (taints === undefined && moved.length === 0) return [];
  const changes = Object.fromEntries(moved.map(([from, to]) => [to, labels[from]!]));
  const metadata =
    moved.length === 0 ? node.metadata : { ...node.metadata, labels: { ...labels, ...changes } };
  return [update(nodeKind, withTaints({ ...node, metadata }, taints ?? node.spec.taints ?? []))];
}

/** Pods of an unreachable node are marked as not ready, because no kubelet reports on them. */
function podWrites(node: Node, pods: readonly Pod[], nowMs: number): readonly Write[] {
  if (readyStatus(node) !== "Unknown") return [];
  return pods.flatMap((pod) => {
    const conditions = pod.status.conditions ?? [];
    const ready = conditions.find(({ type, status }) => type === "Ready" && status === "True");
    if (ready === undefined) return [];
    const lost = { ...ready, status: "False", lastTransitionTime: timeFromMs(nowMs) } as const;
    const status = { ...pod.status, conditions: conditions.map((c) => (c === ready ? lost : c)) };
    const onDone: EventNote = {
      about: pod,
      type: "Warning",
      reason: "NodeNotReady",
      message: "Node is not ready",
    };
    return [noted(updateStatus(podKind, { ...pod, status }), { onDone })];
  });
}

function batch(writes: readonly Write[]): readonly (readonly Write[])[] {
  return writes.length === 0 ? [] : [writes];
}

function readyCondition({ status }: Node): NodeCondition | undefined {
  return status.conditions?.find(({ type }) => type === "Ready");
}

function note(name: string, uid: string, reason: string, text: string): EventNote {
  return {
    about: reference(name, uid),
    type: "Normal",
    reason,
    message: `Node ${name} event: ${text}`,
  };
}

function reference(name: string, uid: string): ObjectReference {
  return { apiVersion: "v1", kind: "Node", name, uid };
}
