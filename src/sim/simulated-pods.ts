/**
 * The pods of all simulated nodes: one watch, one queue of pods that need a step, one timer for
 * everything that happens later.
 *
 * Promises:
 * 1. A status is written only when it differs from the one that the server has, and only over the
 *    revision that the decision was made on.
 * 2. The state of a pod is kept only while something will happen to it by itself; otherwise it is
 *    read from its status when it is needed.
 * 3. At most `WORKERS` pods are written at the same time; changes of a pod that come meanwhile lead
 *    to one more step.
 * 4. However many pods need a step, other work of the process runs in between.
 */
import type { Pod } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { keyOf } from "#client/cache.ts";
import type { Client } from "#client/client.ts";
import type { EventRecorder } from "#client/event-recorder.ts";
import { Informer } from "#client/informer.ts";
import { WorkQueue } from "#client/work-queue.ts";
import { isEqual } from "#kubelet/decide/status-patch.ts";
import { TimeSlice } from "#lib/async/time-slice.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { TimerWheel } from "#lib/time/timer-wheel.ts";
import { type BehaviourRule, behaviourOf } from "./behaviour.ts";
import { OwnStatusWrites } from "./own-status-writes.ts";
import { PodAddresses } from "./pod-addresses.ts";
import { type PodState, restoredState } from "./pod-state.ts";
import { runWorkers } from "./run-workers.ts";
import type { SimulatedNode, SimulatedNodes } from "./simulated-nodes.ts";
import { stepPod } from "./step-pod.ts";

const WORKERS = 64;
const TICK_MS = 10;
const BY_NODE = "node";

export interface SimulatedPodsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  readonly nodes: SimulatedNodes;
  readonly rules: readonly BehaviourRule[];
}

export class SimulatedPods {
  readonly #options: SimulatedPodsOptions;
  readonly #informer: Informer<Pod>;
  readonly #queue: WorkQueue<string>;
  readonly #times: TimerWheel<string>;
  readonly #states = new Map<string, PodState>();
  readonly #writes = new OwnStatusWrites();
  readonly #slice: TimeSlice;
  readonly #addresses = new PodAddresses();

  constructor(options: SimulatedPodsOptions) {
    this.#options = options;
    const { client, clock, random, logger } = options;
    this.#slice = new TimeSlice(clock);
    const slice = this.#slice;
    this.#informer = new Informer({ client, clock, random, logger, kind: podKind, slice });
    this.#informer.cache.addIndex(BY_NODE, ({ spec }) => (spec.nodeName ? [spec.nodeName] : []));
    this.#queue = new WorkQueue(clock, random, (key: string) => key);
    this.#times = new TimerWheel(clock, TICK_MS, (key) => this.#queue.add(key));
  }

  /** Steps that are to be done now. */
  get busy(): number {
    return this.#queue.busy;
  }

  get synced(): Promise<void> {
    return this.#informer.synced;
  }

  get(namespace: string, name: string): Pod | undefined {
    return this.#informer.cache.get(namespace, name);
  }

  ofNode(name: string): Iterable<Pod> {
    return this.#informer.cache.byIndex(BY_NODE, name);
  }

  /** The node can report on its pods again. */
  wakeNode(name: string): void {
    for (const { metadata } of this.ofNode(name)) {
      this.#queue.add(keyOf(metadata.namespace, metadata.name ?? ""));
    }
  }

  /** Lives until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { logger } = this.#options;
    this.#informer.on(({ next, old }) => this.#observe(next, old));
    using _times = this.#times;
    await Promise.all([
      this.#informer.run(signal),
      runWorkers(this.#queue, WORKERS, (key) => this.#step(key, signal), logger, signal),
    ]);
  }

  #observe(next: Pod | undefined, old: Pod | undefined): void {
    if (next === undefined) {
      this.#forget(old);
      return;
    }
    const { uid = "", namespace, name = "", resourceVersion } = next.metadata;
    if (old !== undefined && old.metadata.uid !== uid) this.#forget(old);
    if (this.#options.nodes.get(next.spec.nodeName ?? "") === undefined) return;
    if (!this.#writes.isOwn(uid, resourceVersion)) this.#queue.add(keyOf(namespace, name));
  }

  #forget(pod: Pod | undefined): void {
    const { uid = "", namespace, name = "" } = pod?.metadata ?? {};
    this.#states.delete(uid);
    this.#writes.drop(uid);
    this.#addresses.release(uid);
    this.#times.cancel(keyOf(namespace, name));
  }

  async #step(key: string, signal: AbortSignal): Promise<void> {
    const { clock, nodes } = this.#options;
    const over = this.#slice.over();
    if (over !== undefined) await over;
    const slash = key.indexOf("/");
    const pod = this.#informer.cache.get(key.slice(0, slash), key.slice(slash + 1));
    const node = nodes.get(pod?.spec.nodeName ?? "");
    if (pod === undefined || node === undefined || node.failure !== undefined) return;
    const { uid = "" } = pod.metadata;
    const nowMs = clock.nowMs();
    const { behaviour, problems } = behaviourOf(pod, this.#options.rules);
    const state = this.#states.get(uid) ?? restoredState(pod, nowMs);
    if (state.runs.length === 0) this.#complain(pod, problems);
    const hostIps = addressesOf(node);
    const podIps = this.#addresses.of(pod, node.node, node.index);
    const step = stepPod({ ...{ pod, state, behaviour, hostIps, podIps, nowMs } });
    await this.#write(key, pod, step.status, signal);
    if (step.isGone) return this.#delete(pod, signal);
    if (step.wakeAtMs === undefined) {
      this.#states.delete(uid);
      this.#times.cancel(key);
    } else {
      this.#states.set(uid, step.state);
      this.#times.set(key, step.wakeAtMs - clock.nowMs());
    }
  }

  async #write(key: string, pod: Pod, status: Pod["status"], signal: AbortSignal): Promise<void> {
    if (isEqual(status, pod.status)) return;
    const { client } = this.#options;
    const { uid = "" } = pod.metadata;
    const body = { ...pod, status };
    this.#writes.begin(uid);
    let revision: string | undefined;
    try {
      const answer = await client.update(podKind, body, { subresource: "status" }, signal);
      if (answer.ok) revision = answer.value.metadata.resourceVersion;
      else if (answer.status.code !== 404) throw new Error(answer.status.message);
    } finally {
      if (revision === undefined) this.#writes.drop(uid);
      else if (this.#writes.end(uid, revision)) this.#queue.add(key);
    }
  }

  async #delete({ metadata }: Pod, signal: AbortSignal): Promise<void> {
    const { namespace, name = "", uid = "" } = metadata;
    const options = { uid, gracePeriodSeconds: 0 };
    const gone = await this.#options.client.delete(podKind, { namespace, name }, options, signal);
    if (gone.ok || gone.status.code === 404 || gone.status.code === 409) return;
    throw new Error(gone.status.message);
  }

  #complain(pod: Pod, problems: readonly string[]): void {
    for (const message of problems) {
      const note = { about: pod, type: "Warning", reason: "InvalidSimulation", message } as const;
      this.#options.recorder.record("kubelet", note);
    }
  }
}

function addressesOf({ node }: SimulatedNode): readonly string[] {
  return (node.status.addresses ?? [])
    .filter(({ type }) => type === "InternalIP")
    .map(({ address }) => address);
}
