/**
 * The cloud node lifecycle controller: a node that is not Ready and whose machine is gone is deleted; if
 * its machine is shut down, it is tainted with `node.cloudprovider.kubernetes.io/shutdown` until it is
 * Ready again. The cloud is asked once a period, and only about nodes that are not Ready.
 */
import type { Node, ObjectReference, Taint } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import {
  type Controller,
  defineController,
  type EventNote,
  idle,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { noted, patch, remove } from "#runtime/writes.ts";
import { cloudCall } from "../cloud-call.ts";
import type { Instances } from "../provider.ts";
import { hasTaint, readyStatusOf, SHUTDOWN_TAINT, withoutTaint } from "./node-facts.ts";

export interface CloudNodeLifecycleOptions {
  readonly instances: Instances;
  readonly monitorPeriodMs: number;
}

export interface LifecycleMemory {
  readonly askedAtMs: number;
}

export interface LifecycleState {
  readonly node: Node;
  readonly machine: Machine;
  readonly memory: LifecycleMemory | undefined;
}

/** What the cloud says; `not asked` for nodes that are Ready or were asked about lately. */
export type Machine = "not asked" | "unknown" | "gone" | "shut down" | "running";

export function cloudNodeLifecycle({
  instances,
  monitorPeriodMs,
}: CloudNodeLifecycleOptions): Controller<LifecycleState | undefined, LifecycleMemory> {
  return defineController<LifecycleState | undefined, LifecycleMemory>({
    name: "cloud-node-lifecycle-controller",
    rule: "a node whose machine is gone is deleted; one that is shut down is tainted",
    feeds: [{ kind: nodeKind, keys: ownKey }],
    observe: async (caches, { name }, _reader, memory, { nowMs, signal }) => {
      const node = caches(nodeKind).get(undefined, name);
      if (node === undefined) return undefined;
      const wasAsked = memory !== undefined && nowMs < memory.askedAtMs + monitorPeriodMs;
      if (readyStatusOf(node) === "True" || wasAsked) return { node, machine: "not asked", memory };
      return { node, machine: await machineOf(node, instances, signal), memory };
    },
    decide: (state, nowMs) =>
      state === undefined ? idle : decideLifecycle(state, monitorPeriodMs, nowMs),
  });
}

function decideLifecycle(
  { node, machine, memory }: LifecycleState,
  monitorPeriodMs: number,
  nowMs: number,
): Outcome<LifecycleMemory> {
  if (readyStatusOf(node) === "True") {
    if (!hasTaint(node, SHUTDOWN_TAINT, "NoSchedule")) return { remember: undefined };
    const taints = withoutTaint(node, SHUTDOWN_TAINT, "NoSchedule");
    return { writes: [taintsPatch(node, taints)], remember: undefined };
  }
  if (machine === "gone") return deletion(node, nowMs, monitorPeriodMs);
  const isMissing = !hasTaint(node, SHUTDOWN_TAINT, "NoSchedule");
  const taints = [...(node.spec.taints ?? []), { key: SHUTDOWN_TAINT, effect: "NoSchedule" }];
  const askedAtMs = machine === "not asked" && memory !== undefined ? memory.askedAtMs : nowMs;
  return {
    writes: machine === "shut down" && isMissing ? [taintsPatch(node, taints as Taint[])] : [],
    remember: { askedAtMs },
    recheckInMs: askedAtMs + monitorPeriodMs - nowMs,
  };
}

function deletion(node: Node, nowMs: number, monitorPeriodMs: number): Outcome<LifecycleMemory> {
  const { name = "", uid = "" } = node.metadata;
  const about: ObjectReference = { apiVersion: "v1", kind: "Node", name, uid };
  const failed: EventNote = {
    about,
    type: "Warning",
    reason: "DeletingNodeFailed",
    message: `Failed deleting node ${name}: {error}`,
  };
  const message = `Deleting node ${name} because it does not exist in the cloud provider`;
  return {
    events: [{ about, type: "Normal", reason: "DeletingNode", message }],
    writes: [noted(remove(nodeKind, node), { onRefused: failed })],
    remember: { askedAtMs: nowMs },
    recheckInMs: monitorPeriodMs,
  };
}

/** Refused with a conflict if the taints have changed since. */
function taintsPatch(node: Node, taints: readonly Taint[]) {
  const { resourceVersion } = node.metadata;
  return patch(nodeKind, node, "merge", { metadata: { resourceVersion }, spec: { taints } });
}

async function machineOf(node: Node, instances: Instances, signal: AbortSignal): Promise<Machine> {
  const exists = await cloudCall(() => instances.exists(node, signal), signal);
  if (!exists.ok) return "unknown";
  if (!exists.value) return "gone";
  const shutdown = await cloudCall(() => instances.isShutdown(node, signal), signal);
  if (!shutdown.ok) return "unknown";
  return shutdown.value ? "shut down" : "running";
}
