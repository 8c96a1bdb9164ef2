/**
 * Keeps the Node object: registers it, reports its status when it changes and every five minutes
 * otherwise, and hands the node's pod CIDRs to the network.
 */
import type { Node, NodeStatus } from "#api/generated/core.v1.ts";
import { nodeKind } from "#api/kinds/core/v1/node/node.ts";
import type { Client } from "#client/client.ts";
import {
  decideNodeStatus,
  labelsOfExistingNode,
  type NodeIdentity,
  type NodeState,
  newNode,
  OWN_ANNOTATIONS,
} from "#kubelet/decide/node/node-status.ts";
import { isEqual } from "#kubelet/decide/status-patch.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { NodeStartup } from "./node-startup.ts";

export interface NodeKeeperOptions {
  /** How often the state is looked at. */
  readonly checkMs: number;
  /** How often a status that did not change is written. */
  readonly reportMs: number;
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly identity: NodeIdentity;
  readonly register: boolean;
  readonly startup: NodeStartup;
  state(): Promise<NodeState>;
  onPodCidrs(cidrs: readonly string[]): void;
}

export class NodeKeeper {
  readonly #options: NodeKeeperOptions;
  #node: Node | undefined;
  #reportedMs = Number.NEGATIVE_INFINITY;
  /** The node that is known is the server's: it need not be read before it is compared. */
  #isObserved = false;
  #wake = new AbortController();
  /** The pod CIDRs that were handed over last. */
  #podCidrs = "";

  constructor(options: NodeKeeperOptions) {
    this.#options = options;
  }

  get node(): Node | undefined {
    return this.#node;
  }

  /** Something that the status reports has changed. */
  wake(): void {
    this.#wake.abort();
  }

  /** The node as a watch shows it: what the server adds (pod CIDRs) is used at once. */
  observe(node: Node): void {
    this.#take(node);
    this.#isObserved = true;
  }

  /** Resolves when the server knows the node. */
  async register(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    const backoff = new Backoff({ baseMs: 100, capMs: 7_000, random });
    while (!signal.aborted) {
      try {
        await this.#registerOnce(signal);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const { name } = this.#options.identity;
        logger.warn("the node is not registered yet", { name, why: messageOf(error) });
        await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
      }
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      try {
        await this.#report(signal);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn("the node's status was not sent", { why: messageOf(error) });
      }
      const ends = AbortSignal.any([signal, this.#wake.signal]);
      await clock.sleep(this.#options.checkMs, ends).catch(() => undefined);
    }
  }

  async #registerOnce(signal: AbortSignal): Promise<void> {
    const { client, identity, register, clock } = this.#options;
    this.#options.startup.attempted();
    if (register) {
      const wanted = newNode(identity, await this.#options.state(), clock.nowMs());
      const answer = await client.create(nodeKind, wanted, {}, signal);
      if (answer.ok) {
        this.#options.startup.registered();
        this.#take(answer.value);
        this.#noteReady(answer.value);
        this.#reportedMs = clock.elapsedMs();
        return;
      }
      if (answer.status.reason !== "AlreadyExists") throw new Error(answer.status.message);
    }
    const found = await client.get(nodeKind, { name: identity.name }, signal);
    if (!found.ok) throw new Error(found.status.message);
    this.#take(found.value);
    if (register) await this.#fixLabels(found.value, signal);
  }

  /** Labels and annotations that the kubelet owns are what they must be, also after another machine had the name. */
  async #fixLabels(node: Node, signal: AbortSignal): Promise<void> {
    const { client, identity } = this.#options;
    const wanted = labelsOfExistingNode(identity);
    const { labels = {}, annotations = {} } = node.metadata;
    const isRight = Object.entries(wanted).every(([name, value]) => labels[name] === value);
    const isAnnotated = Object.entries(OWN_ANNOTATIONS).every(
      ([name, value]) => annotations[name] === value,
    );
    if (isRight && isAnnotated) return;
    const patch = { metadata: { labels: wanted, annotations: OWN_ANNOTATIONS } };
    await client.patch(nodeKind, { name: identity.name }, "strategic", patch, {}, signal);
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { client, clock, identity, register } = this.#options;
    let current = this.#isObserved ? this.#node : undefined;
    if (current === undefined) {
      const found = await client.get(nodeKind, { name: identity.name }, signal);
      if (!found.ok) {
        if (found.status.code !== 404 || !register) throw new Error(found.status.message);
        return; // deleted: it comes back when the kubelet starts anew
      }
      this.#take(found.value);
      current = found.value;
    }
    const old = current.status;
    const next = decideNodeStatus(old, await this.#options.state(), clock.nowMs());
    const isDue = clock.elapsedMs() - this.#reportedMs >= this.#options.reportMs;
    if (!isDue && isEqual(withoutHeartbeats(old), withoutHeartbeats(next))) return;
    const body = { status: nodePatch(old, next) };
    const key = { name: identity.name };
    const options = { subresource: "status" };
    this.#isObserved = false; // until the watch shows what was written
    const answer = await client.patch(nodeKind, key, "strategic", body, options, signal);
    if (!answer.ok) throw new Error(answer.status.message);
    this.#reportedMs = clock.elapsedMs();
    this.#take(answer.value);
    this.#noteReady(answer.value);
  }

  #noteReady({ status: { conditions = [] } }: Node): void {
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    if (isReady) this.#options.startup.ready();
  }

  #take(node: Node): void {
    this.#node = node;
    const cidrs = node.spec.podCIDRs ?? (node.spec.podCIDR ? [node.spec.podCIDR] : []);
    const text = cidrs.join(",");
    if (text === "" || text === this.#podCidrs) return;
    this.#podCidrs = text;
    this.#options.onPodCidrs(cidrs);
  }
}

/** Addresses are merged by type, which would keep old ones and mix up two of one type. */
function nodePatch(old: NodeStatus, { addresses, ...next }: NodeStatus): object {
  const volumesInUse = next.volumesInUse ?? (old.volumesInUse === undefined ? undefined : null);
  if (isEqual(old.addresses, addresses)) return { ...next, volumesInUse };
  return { ...next, volumesInUse, addresses: [...(addresses ?? []), { $patch: "replace" }] };
}

function withoutHeartbeats(status: NodeStatus): unknown {
  const conditions = (status.conditions ?? []).map((one) => ({ ...one, lastHeartbeatTime: "" }));
  return { ...status, conditions };
}
