/**
 * The cloud node controller. It initializes nodes that their kubelet registered with the taint
 * `node.cloudprovider.kubernetes.io/uninitialized`: provider ID, addresses, instance type, zone and
 * region; then it removes the taint. The addresses of the others are compared with the cloud's at the
 * start and once a period.
 */
import type { Node } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { timeToMs } from "#api/meta/time.ts";
import {
  type Controller,
  defineController,
  type EventNote,
  idle,
  type Measure,
  type Moment,
  type Outcome,
  ownKey,
} from "#runtime/controller.ts";
import { noted, patch, update, type Write } from "#runtime/writes.ts";
import { cloudCall } from "../cloud-call.ts";
import type { CloudProvider, InstanceMetadata, Instances } from "../provider.ts";
import { initialLabels, labelsToCorrect } from "./cloud-labels.ts";
import {
  addressesFrom,
  hasTaint,
  sameAddresses,
  UNINITIALIZED_TAINT,
  withoutTaint,
} from "./node-facts.ts";

export interface CloudNodeOptions {
  readonly instances: Instances;
  readonly zones: CloudProvider["zones"] | undefined;
  /** How often addresses are compared with the cloud's. */
  readonly statusUpdateMs: number;
  readonly workers?: number;
}

/** When the addresses were last compared. */
export interface CloudNodeMemory {
  readonly comparedAtMs: number;
}

export interface CloudNodeState {
  readonly node: Node;
  /** Undefined if the cloud was not asked, or has nothing to say. */
  readonly metadata: InstanceMetadata | undefined;
  readonly wasAsked: boolean;
  readonly memory: CloudNodeMemory | undefined;
}

type State = CloudNodeState | undefined;

export function cloudNode(options: CloudNodeOptions): Controller<State, CloudNodeMemory> {
  return defineController<State, CloudNodeMemory>({
    name: "cloud-node-controller",
    rule: "a node gets the addresses, labels and provider ID of its machine",
    feeds: [{ kind: nodeKind, keys: ownKey }],
    workers: options.workers ?? 1,
    observe: async (caches, { name }, _reader, memory, moment) => {
      const node = caches(nodeKind).get(undefined, name);
      if (node === undefined) return undefined;
      if (hasTaint(node, UNINITIALIZED_TAINT)) {
        const metadata = await metadataOf(node, options, moment);
        return { node, metadata, wasAsked: true, memory };
      }
      const isDue =
        memory === undefined || moment.nowMs >= memory.comparedAtMs + options.statusUpdateMs;
      if (!isDue) return { node, metadata: undefined, wasAsked: false, memory };
      // What the cloud cannot say now is asked again after the period.
      const asked = await cloudCall(() => metadataOf(node, options, moment), moment.signal);
      return { node, metadata: asked.ok ? asked.value : undefined, wasAsked: true, memory };
    },
    decide: (state, nowMs) =>
      state === undefined ? idle : decideCloudNode(state, options.statusUpdateMs, nowMs),
    measure,
  });
}

function decideCloudNode(
  state: CloudNodeState,
  statusUpdateMs: number,
  nowMs: number,
): Outcome<CloudNodeMemory> {
  const { node, metadata, wasAsked, memory } = state;
  if (hasTaint(node, UNINITIALIZED_TAINT)) {
    return metadata === undefined ? idle : initialize(node, metadata, nowMs);
  }
  const labels = labelsToCorrect(node);
  const correction = patch(nodeKind, node, "strategic", { metadata: { labels } });
  const comparedAtMs = wasAsked || memory === undefined ? nowMs : memory.comparedAtMs;
  return {
    writes: [
      ...(Object.keys(labels).length === 0 ? [] : [correction]),
      ...addressWrites(node, metadata),
    ],
    remember: { comparedAtMs },
    recheckInMs: comparedAtMs + statusUpdateMs - nowMs,
  };
}

function initialize(
  node: Node,
  metadata: InstanceMetadata,
  nowMs: number,
): Outcome<CloudNodeMemory> {
  const providerID = node.spec.providerID || metadata.providerId;
  if (providerID === undefined || providerID === "") {
    const { name } = node.metadata;
    throw new Error(`cloud provider does not set node provider ID for node ${name}`);
  }
  const initialized: Node = {
    ...node,
    metadata: { ...node.metadata, labels: initialLabels(node, metadata) },
    spec: { ...node.spec, providerID, taints: [...withoutTaint(node, UNINITIALIZED_TAINT)] },
  };
  addressesFrom(node, metadata.addresses ?? []); // an address that does not match keeps the taint
  const addresses = addressWrites(node, metadata);
  const synced: EventNote = {
    about: node,
    type: "Normal",
    reason: "Synced",
    message: "Node synced successfully",
  };
  return {
    writes: [noted(update(nodeKind, initialized), { onDone: synced }), ...addresses],
    remember: { comparedAtMs: nowMs },
  };
}

function addressWrites(node: Node, metadata: InstanceMetadata | undefined): readonly Write[] {
  const cloud = metadata?.addresses ?? [];
  if (cloud.length === 0) return [];
  const addresses = addressesFrom(node, cloud);
  if (sameAddresses(addresses, node.status?.addresses ?? [])) return [];
  // A strategic patch would merge by type, and a type may have several addresses.
  return [patch(nodeKind, node, "merge", { status: { addresses } }, "status")];
}

async function metadataOf(
  node: Node,
  { instances, zones }: CloudNodeOptions,
  { signal }: Moment,
): Promise<InstanceMetadata | undefined> {
  const metadata = await instances.metadata(node, signal);
  if (metadata === undefined || zones === undefined) return metadata;
  if (metadata.zone !== undefined || metadata.region !== undefined) return metadata;
  return { ...metadata, ...(await zones.zoneOf(node, signal)) };
}

/** 1 s to 17 min. */
const BUCKETS = [1, 4, 16, 64, 256, 1024];

const measure: Measure<State> = (metrics) => {
  const removal = metrics.histogram({
    name: "node_controller_cloud_provider_taint_removal_delay_seconds",
    help: "Number of seconds after node creation when NodeController removed the cloud-provider taint of a single node.",
    buckets: BUCKETS,
  })();
  const sync = metrics.histogram({
    name: "node_controller_initial_node_sync_delay_seconds",
    help: "Number of seconds after node creation when NodeController finished the initial synchronization of a single node.",
    buckets: BUCKETS,
  })();
  return ({ state, refused, done, nowMs }) => {
    if (state === undefined || refused !== undefined || done === 0) return;
    if (!hasTaint(state.node, UNINITIALIZED_TAINT)) return;
    const seconds = (nowMs - timeToMs(state.node.metadata.creationTimestamp ?? "")) / 1000;
    removal.observe(seconds);
    sync.observe(seconds);
  };
};
