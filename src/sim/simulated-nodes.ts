/**
 * The nodes of a simulation: registered, kept alive by Leases and described as a kubelet does.
 *
 * Promises:
 * 1. Every node with the label `sim.k8ts.io/simulated=true` is kept, also one that a user created.
 * 2. There is one watch and one timer for all of them. Their Leases are renewed evenly over time.
 * 3. A node with the annotation `sim.k8ts.io/failure: unreachable` renews and reports nothing;
 *    `not-ready` reports that its runtime is down. Without it the node comes back at once.
 * 4. A node that is deleted stays deleted until the simulation starts anew.
 */
import type { Lease } from "#api/generated/coordination.v1.ts";
import type { Node } from "#api/generated/core.v1.ts";
import { leaseKind } from "#api/kinds/coordination/v1/lease.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import type { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import { WorkQueue } from "#client/work-queue.ts";
import { isEqual } from "#kubelet/decide/status-patch.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { TimerWheel } from "#lib/time/timer-wheel.ts";
import {
  FAILURE_ANNOTATION,
  type Failure,
  failureOf,
  MANAGED_ANNOTATION,
  NODE_PREFIX,
  SIMULATED_SELECTOR,
} from "./names.ts";
import {
  type NodeEndpoint,
  type NodeTemplate,
  simulatedNode,
  simulatedStatus,
} from "./node-template.ts";
import { runWorkers } from "./run-workers.ts";

const LEASE_NAMESPACE = "kube-node-lease";
const LEASE_SECONDS = 40;
/** Between two reports of a status that stays the same: upstream's 5 minutes at 10 s a renewal. */
const RENEWALS_PER_REPORT = 30;
const TICK_MS = 100;
const WORKERS = 32;
/** More renewals in a second would cost too much of a small machine: Leases are then renewed later. */
const RENEWALS_PER_SECOND_MAX = 250;
const RENEW_MAX_MS = 30_000;

export interface SimulatedNodesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly count: number;
  readonly template: NodeTemplate;
  readonly endpoint: NodeEndpoint;
  /** How often a Lease is renewed while there are not too many nodes. */
  readonly renewMs: number;
}

export interface SimulatedNode {
  readonly index: number;
  node: Node;
  failure: Failure | undefined;
  /** Undefined while it is not known whether there is one. */
  lease: Lease | "none" | undefined;
}

export class SimulatedNodes {
  readonly #options: SimulatedNodesOptions;
  readonly #informer: Informer<Node>;
  readonly #nodes = new Map<string, SimulatedNode>();
  readonly #names = new Map<number, string>();
  /** Nodes whose creation was sent and that the watch has not shown yet. */
  readonly #created = new Set<string>();
  readonly #leases: WorkQueue<string>;
  readonly #reports: WorkQueue<string>;
  readonly #leaseTimes: TimerWheel<string>;
  readonly #reportTimes: TimerWheel<string>;
  #nextIndex: number;

  constructor(options: SimulatedNodesOptions) {
    this.#options = options;
    const { client, clock, random, logger, count } = options;
    this.#informer = new Informer({
      ...{ client, clock, random, logger, kind: nodeKind },
      labelSelector: SIMULATED_SELECTOR,
    });
    this.#leases = new WorkQueue(clock, random, (name: string) => name);
    this.#reports = new WorkQueue(clock, random, (name: string) => name);
    this.#leaseTimes = new TimerWheel(clock, TICK_MS, (name) => this.#leases.add(name));
    this.#reportTimes = new TimerWheel(clock, TICK_MS, (name) => this.#reports.add(name));
    this.#nextIndex = count;
  }

  get(name: string): SimulatedNode | undefined {
    return this.#nodes.get(name);
  }

  /** The node whose kubelet has this number in its address. */
  byIndex(index: number): SimulatedNode | undefined {
    return this.#nodes.get(this.#names.get(index) ?? "");
  }

  get size(): number {
    return this.#nodes.size;
  }

  /** Work that is to be done now. */
  get busy(): number {
    return this.#leases.busy + this.#reports.busy;
  }

  /** Lives until the signal aborts. `onBack`: the node can report on its pods again, or for the first time. */
  async run(
    onBack: (name: string) => void,
    onRegistered: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { logger } = this.#options;
    this.#informer.on(({ next, old }) => this.#observe(next, old, onBack));
    using _leases = this.#leaseTimes;
    using _reports = this.#reportTimes;
    await Promise.all([
      this.#informer.run(signal),
      this.#register(signal).then(onRegistered),
      runWorkers(this.#leases, WORKERS, (name) => this.#renew(name, signal), logger, signal),
      runWorkers(this.#reports, WORKERS, (name) => this.#report(name, signal), logger, signal),
    ]);
  }

  /** Creates those that are missing and deletes those that are too many. */
  async #register(signal: AbortSignal): Promise<void> {
    const { client, clock, count, template, endpoint } = this.#options;
    await this.#informer.synced;
    const missing: number[] = [];
    for (let index = 0; index < count; index++) {
      if (!this.#nodes.has(`${NODE_PREFIX}${index}`)) missing.push(index);
    }
    const worker = async (): Promise<void> => {
      for (let index = missing.pop(); index !== undefined; index = missing.pop()) {
        const name = `${NODE_PREFIX}${index}`;
        const nowMs = clock.nowMs();
        const node = simulatedNode(name, index, template, endpoint, nowMs);
        // As a kubelet that is ready from the start: its first report would only repeat it.
        const status = simulatedStatus(node, index, template, endpoint, nowMs);
        this.#created.add(name);
        const answer = await client.create(nodeKind, { ...node, status }, {}, signal);
        if (answer.ok) continue;
        this.#created.delete(name);
        if (answer.status.reason !== "AlreadyExists") {
          throw new Error(`node ${name}: ${answer.status.message}`);
        }
      }
    };
    missing.reverse();
    await Promise.all(Array.from({ length: WORKERS }, worker));
    const surplus = [...this.#nodes.values()].filter(
      ({ node, index }) =>
        index >= count && node.metadata.annotations?.[MANAGED_ANNOTATION] === "true",
    );
    for (const { node } of surplus) {
      await client.delete(nodeKind, { name: node.metadata.name ?? "" }, {}, signal);
    }
  }

  #observe(next: Node | undefined, old: Node | undefined, onBack: (name: string) => void): void {
    const name = next?.metadata.name ?? old?.metadata.name ?? "";
    if (next === undefined) {
      this.#forget(name);
      return;
    }
    const failure = failureOf(next.metadata.annotations?.[FAILURE_ANNOTATION]);
    const known = this.#nodes.get(name);
    if (known === undefined || known.node.metadata.uid !== next.metadata.uid) {
      const index = known?.index ?? this.#indexOf(next);
      const isCreated = this.#created.delete(name);
      const lease = isCreated ? "none" : undefined;
      this.#nodes.set(name, { index, node: next, failure, lease });
      this.#names.set(index, name);
      if (isCreated) this.#reportTimes.set(name, this.#reportMs);
      else if (failure !== "unreachable") this.#reports.add(name);
      // Those that were there before are renewed one after the other, not all at once.
      const spreadMs = this.#renewMs() * this.#options.random.next();
      const isNew = known === undefined && next.status.conditions === undefined;
      if (isCreated || isNew) this.#leases.add(name);
      else this.#leaseTimes.set(name, Math.min(spreadMs, 1_000));
      onBack(name);
      return;
    }
    const before = known.failure;
    known.node = next;
    known.failure = failure;
    if (before === failure) return;
    if (failure !== "unreachable") {
      this.#reports.add(name);
      this.#leases.add(name);
    }
    if (failure === undefined) onBack(name);
  }

  #forget(name: string): void {
    const known = this.#nodes.get(name);
    if (known !== undefined) this.#names.delete(known.index);
    this.#nodes.delete(name);
    this.#leaseTimes.cancel(name);
    this.#reportTimes.cancel(name);
  }

  #indexOf({ metadata }: Node): number {
    const { name = "", annotations } = metadata;
    const number = Number(name.slice(NODE_PREFIX.length));
    const isOwn =
      annotations?.[MANAGED_ANNOTATION] === "true" && name === `${NODE_PREFIX}${number}`;
    if (isOwn && !this.#names.has(number)) {
      this.#nextIndex = Math.max(this.#nextIndex, number + 1);
      return number;
    }
    return this.#nextIndex++;
  }

  #renewMs(): number {
    const spreadMs = (this.#nodes.size / RENEWALS_PER_SECOND_MAX) * 1_000;
    return Math.max(this.#options.renewMs, Math.min(spreadMs, RENEW_MAX_MS));
  }

  get #reportMs(): number {
    return this.#options.renewMs * RENEWALS_PER_REPORT;
  }

  async #renew(name: string, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const known = this.#nodes.get(name);
    if (known === undefined || known.failure === "unreachable") return;
    const key = { namespace: LEASE_NAMESPACE, name };
    if (known.lease === undefined) {
      const found = await client.get(leaseKind, key, signal);
      if (!found.ok && found.status.code !== 404) throw new Error(found.status.message);
      known.lease = found.ok ? found.value : "none";
    }
    const lease = known.lease === "none" ? undefined : known.lease;
    const next = leaseOf(known.node, lease, clock.nowMs());
    const answer =
      lease === undefined
        ? await client.create(leaseKind, next, {}, signal)
        : await client.update(leaseKind, next, {}, signal);
    known.lease = answer.ok ? answer.value : undefined;
    if (!answer.ok) throw new Error(answer.status.message);
    this.#leaseTimes.set(name, this.#renewMs());
  }

  async #report(name: string, signal: AbortSignal): Promise<void> {
    const { client, clock, template, endpoint } = this.#options;
    const known = this.#nodes.get(name);
    if (known === undefined || known.failure === "unreachable") return;
    const { node, index } = known;
    const status = simulatedStatus(node, index, template, endpoint, clock.nowMs());
    this.#reportTimes.set(name, this.#reportMs);
    if (isEqual(status, node.status)) return;
    const body = { ...node, status };
    const answer = await client.update(nodeKind, body, { subresource: "status" }, signal);
    if (!answer.ok && answer.status.code !== 404) throw new Error(answer.status.message);
  }
}

function leaseOf({ metadata }: Node, old: Lease | undefined, nowMs: number): Lease {
  const { name = "", uid = "" } = metadata;
  return {
    apiVersion: leaseKind.apiVersion,
    kind: "Lease",
    metadata: {
      ...old?.metadata,
      ...{ name, namespace: LEASE_NAMESPACE },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }],
    },
    spec: {
      ...old?.spec,
      holderIdentity: name,
      leaseDurationSeconds: LEASE_SECONDS,
      renewTime: microTimeFromMs(nowMs),
    },
  };
}
