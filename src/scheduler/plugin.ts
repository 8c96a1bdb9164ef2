/**
 * The contract between the scheduler and its plugins.
 *
 * A plugin is a name and the hooks it wants. The scheduler calls the hooks of a pod in this order:
 * preEnqueue, preFilter, filter (each node), postFilter (if no node fits), preScore, score (each
 * node that fits), normalize, reserve, permit, preBind, bind, postBind; and unreserve, in reverse
 * order, when something after reserve fails.
 *
 * Promises:
 * 1. preFilter to reserve run without awaiting in between: they see one state of the cluster.
 * 2. What preFilter returns as its state is given to the later hooks of the same pod and no others.
 * 3. A hook that throws fails the attempt of that pod; the pod is tried again after a back-off.
 * 4. A plugin that rejected a pod is asked, through `wakeOn`, which changes of the cluster may let
 *    the pod fit. A plugin without `wakeOn` is taken to say: any change may.
 */
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "#api/generated/core.v1.ts";
import type { DeviceClass, ResourceClaim, ResourceSlice } from "#api/generated/resource.v1.ts";
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
} from "#api/generated/storage.v1.ts";
import type { Client } from "#client/client.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { SchedulerEvent } from "./cycle/scheduler-events.ts";
import type { Candidate } from "./preemption/victims.ts";
import type { QueuedPod } from "./queue/queued-pod.ts";
import type { ClusterObjects } from "./snapshot/cluster-objects.ts";
import type { NodeInfo } from "./snapshot/node-info.ts";
import type { PodInfo } from "./snapshot/pod-info.ts";
import type { Snapshot } from "./snapshot/snapshot.ts";

export type Verdict = typeof FITS | Rejected;

export const FITS = Object.freeze({ fits: true } as const);

export interface Rejected {
  readonly fits: false;
  /** Whether removing pods from the node could make the pod fit. */
  readonly preemptionMayHelp: boolean;
  readonly reasons: readonly string[];
}

/** The pod does not fit as long as the pods on the node stay. Make these once, not per node. */
export function rejected(...reasons: readonly string[]): Rejected {
  return Object.freeze({ fits: false, preemptionMayHelp: true, reasons });
}

/** The pod does not fit, whatever pods are removed. */
export function unresolvable(...reasons: readonly string[]): Rejected {
  return Object.freeze({ fits: false, preemptionMayHelp: false, reasons });
}

/** What preFilter found: nothing to check, a verdict on all nodes, or the state for filter. */
export type PreFilterResult<State> =
  | { readonly skip: true }
  | { readonly skip: false; readonly state: State; readonly nodeNames?: ReadonlySet<string> }
  | Rejected;

export type PreScoreResult<State> =
  | { readonly skip: true }
  | { readonly skip: false; readonly state: State };

export const SKIP = Object.freeze({ skip: true } as const);

/** The pod waits until `allow` or `reject` is called on it, at most this long. */
export interface Wait {
  readonly waitMs: number;
}

export interface PostFilterResult {
  /** The node for which room is being made. Undefined leaves the nomination as it is. */
  readonly nominatedNode?: string;
  readonly succeeded: boolean;
  /** The pods that are removed for it, as NAMESPACE/NAME. */
  readonly victims?: readonly string[];
  /** Ends the pod's postFilter phase although nothing was achieved. */
  readonly unresolvable?: boolean;
  readonly message: string;
}

export interface PostFilterContext {
  /** The verdict of every node that was evaluated. */
  readonly verdicts: ReadonlyMap<NodeInfo, Rejected>;
  /** The verdict of all other nodes. */
  readonly absent: Rejected;
  /**
   * Whether the verdict on a node depends on nothing but the pod's spec, the node and its pods, so
   * that it holds for the next pod of the same spec while the node does not change.
   */
  readonly isRepeatable: boolean;
  /** Plugins whose preFilter did not run, because that of another one had rejected the pod. */
  readonly unasked: ReadonlySet<string>;
  /**
   * Runs the filters of the cycle on a copy of a node, with pods added or removed by the caller.
   */
  trial(node: NodeInfo): Trial;
}

/** A node on which pods can be added and removed to see whether the pod would fit. */
export interface Trial {
  readonly node: NodeInfo;
  add(pod: PodInfo): void;
  remove(pod: PodInfo): void;
  verdict(): Verdict;
}

export interface Plugin<FilterState = unknown, ScoreState = unknown> {
  readonly name: string;
  /** The order of the queue, as a sort function wants it. One plugin has it. */
  queueSort?(a: QueuedPod, b: QueuedPod): number;
  /** A rejected pod does not enter the queue until it changes. */
  preEnqueue?(pod: PodInfo): Verdict;
  preFilter?(pod: PodInfo, snapshot: Snapshot): PreFilterResult<FilterState>;
  filter?(state: FilterState, pod: PodInfo, node: NodeInfo): Verdict;
  /** `filter` looks at nothing but the pod's spec, the node and the pods on it. */
  readonly filtersByNodeOnly?: boolean;
  /** `score` looks at nothing but the pod's spec, the node and the pods on it. */
  readonly scoresByNodeOnly?: boolean;
  /** A copy of the state on which `podAdded` and `podRemoved` may work. */
  copyState?(state: FilterState): FilterState;
  podAdded?(state: FilterState, pod: PodInfo, added: PodInfo, node: NodeInfo): void;
  podRemoved?(state: FilterState, pod: PodInfo, removed: PodInfo, node: NodeInfo): void;
  postFilter?(
    pod: PodInfo,
    context: PostFilterContext,
    state: FilterState | undefined,
  ): PostFilterResult;
  /** The same in steps, between which other work may run; for what takes milliseconds. */
  postFilterSteps?(pod: PodInfo, context: PostFilterContext): Generator<void, PostFilterResult>;
  /** In place of postFilter where extenders want a say in what is preempted. */
  postFilterWithExtenders?(
    pod: PodInfo,
    context: PostFilterContext,
    review: PreemptionReview,
  ): Promise<PostFilterResult>;
  preScore?(
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    snapshot: Snapshot,
    filterState: FilterState | undefined,
  ): PreScoreResult<ScoreState>;
  score?(state: ScoreState, pod: PodInfo, node: NodeInfo): number;
  /** What `score` says of each node, where asking for all at once costs less. */
  scoreNodes?(state: ScoreState, pod: PodInfo, nodes: readonly NodeInfo[]): number[];
  /** Turns raw scores into 0 to 100, in place. */
  normalize?(state: ScoreState, scores: number[], nodes: readonly NodeInfo[]): void;
  reserve?(state: FilterState | undefined, pod: PodInfo, node: NodeInfo): Verdict;
  unreserve?(state: FilterState | undefined, pod: PodInfo, node: NodeInfo): void;
  permit?(pod: PodInfo, node: NodeInfo): Verdict | Wait;
  /** Whether preBind has something to do for the pod. */
  hasPreBind?(state: FilterState | undefined, pod: PodInfo, node: NodeInfo): boolean;
  preBind?(
    state: FilterState | undefined,
    pod: PodInfo,
    node: NodeInfo,
    signal: AbortSignal,
  ): Promise<Verdict>;
  /** Undefined: another plugin shall bind the pod. */
  bind?(pod: PodInfo, node: NodeInfo, signal: AbortSignal): Promise<Verdict | undefined>;
  postBind?(pod: PodInfo, node: NodeInfo): void;
  readonly wakeOn?: readonly AnyWakeRule[];
}

/** The object that changed, by kind of change. */
export interface EventObjects {
  "node-added": Node;
  "node-allocatable-changed": Node;
  "node-labels-changed": Node;
  "node-taints-changed": Node;
  "node-conditions-changed": Node;
  "node-annotations-changed": Node;
  "node-features-changed": Node;
  "node-deleted": Node;
  "pod-added": Pod;
  "pod-labels-changed": Pod;
  "pod-scaled-down": Pod;
  "pod-claims-changed": Pod;
  "pod-deleted": Pod;
  "own-labels-changed": Pod;
  "own-tolerations-changed": Pod;
  "own-gates-eliminated": Pod;
  "own-scaled-down": Pod;
  "own-claims-changed": Pod;
  "own-changed": Pod;
  "claim-added": PersistentVolumeClaim;
  "claim-changed": PersistentVolumeClaim;
  "claim-deleted": PersistentVolumeClaim;
  "volume-added": PersistentVolume;
  "volume-changed": PersistentVolume;
  "storage-class-added": StorageClass;
  "storage-class-changed": StorageClass;
  "csi-node-added": CSINode;
  "csi-node-changed": CSINode;
  "csi-node-deleted": CSINode;
  "csi-driver-added": CSIDriver;
  "csi-driver-changed": CSIDriver;
  "csi-driver-deleted": CSIDriver;
  "storage-capacity-added": CSIStorageCapacity;
  "storage-capacity-changed": CSIStorageCapacity;
  "volume-attachment-deleted": VolumeAttachment;
  "resource-claim-added": ResourceClaim;
  "resource-claim-changed": ResourceClaim;
  "resource-claim-deleted": ResourceClaim;
  "resource-slice-added": ResourceSlice;
  "resource-slice-changed": ResourceSlice;
  "resource-slice-deleted": ResourceSlice;
  "device-class-added": DeviceClass;
  "device-class-changed": DeviceClass;
}

export type EventName = keyof EventObjects;

/**
 * Says whether a change may let a pod fit that the plugin rejected. Of a deletion, `next` is the
 * object as it last was. Without `wakes` every such change may.
 */
export interface WakeRule<Name extends EventName = EventName> {
  readonly event: Name;
  /**
   * The uids of the pods that the change can concern; undefined if it can concern any. It spares
   * `wakes` a call for each pod that waits.
   */
  affects?(
    next: EventObjects[Name],
    old: EventObjects[Name] | undefined,
  ): Iterable<string> | undefined;
  wakes?(pod: PodInfo, next: EventObjects[Name], old: EventObjects[Name] | undefined): boolean;
}

export type AnyWakeRule = { [Name in EventName]: WakeRule<Name> }[EventName];

/** Asks the extenders which of the candidates are left; rejects if one of them fails. */
export type PreemptionReview = (
  pod: PodInfo,
  candidates: readonly Candidate[],
) => Promise<readonly Candidate[]>;

/** A preemption that was decided. */
export interface PreemptionTask {
  readonly pod: PodInfo;
  readonly node: string;
  readonly victims: readonly PodInfo[];
  /** Pods of lower priority that were nominated to the node. */
  readonly displaced: readonly PodInfo[];
}

/** Carries preemptions out beside the scheduling loop. */
export interface Preemptions {
  isRunning(uid: string): boolean;
  start(task: PreemptionTask): void;
}

export interface DeviceMetrics {
  /** A ResourceClaim for extended resources was created, or could not be. */
  claimCreated(isOk: boolean): void;
  /** One device with binding conditions was waited for. */
  waitedForDevice(profile: string, driver: string, status: string, durationMs: number): void;
}

export interface VolumeMetrics {
  /** An error, other than a rejection, while volumes were looked for on a node or bound. */
  volumeStageFailed(stage: "predicate" | "bind"): void;
}

/** Pods that wait because a plugin's `permit` said so. */
export interface WaitingPods {
  /** One plugin lets the pod go; it is bound when all plugins have. */
  allow(uid: string, plugin: string): void;
  /** The pod gives its node back and is tried again. False if it was not waiting. */
  reject(uid: string, plugin: string, reason: string): boolean;
}

/** Pods that are nominated to run on a node and do not run there yet. */
export interface NominatedPods {
  /** How many pods are nominated. */
  readonly size: number;
  /** The same list for as long as nothing about it changes. */
  onNode(name: string): readonly PodInfo[];
  /** The node as it would be with these pods, to be read only. */
  nodeWith(node: NodeInfo, pods: readonly PodInfo[]): NodeInfo;
  nodeOf(uid: string): string | undefined;
}

/** What plugins may use beside the pod and the node that they are asked about. */
export interface Handle {
  readonly snapshot: Snapshot;
  readonly objects: ClusterObjects;
  readonly nominated: NominatedPods;
  readonly preemptions: Preemptions;
  readonly waitingPods: WaitingPods;
  readonly deviceMetrics: DeviceMetrics;
  readonly volumeMetrics: VolumeMetrics;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  /** Writes an Event about a pod, beside the scheduling loop. */
  recordEvent(event: SchedulerEvent): void;
}

export interface PluginFactory {
  readonly name: string;
  /** `args` is what the configuration says for this plugin, with defaults and checked. */
  create(args: unknown, handle: Handle): Plugin;
}

/** Checks the types of a plugin's hooks against each other. */
export function definePlugin<FilterState, ScoreState>(
  plugin: Plugin<FilterState, ScoreState>,
): Plugin {
  return plugin as Plugin;
}
