/**
 * Brings the statuses of pods to the API server.
 *
 * Promises:
 * 1. `set` never waits. Of several statuses of a pod only the latest is sent; nothing is sent that
 *    the server has already.
 * 2. A status that cannot be sent is tried again with a growing pause until it is replaced or the
 *    pod is gone.
 * 3. What others have changed in a status, as the node lifecycle controller does with the condition Ready
 *    of pods on a node that it thinks lost, is put right with the next `set`.
 * 4. `finish` deletes the pod object for good, after its last status was sent.
 * 5. The first status of a pod, which only says that its containers are being created, may be held back while
 *    many pods are being started (`waitForTurn`). Any other status is sent at once, instead of it, and one that is
 *    held back when the signal aborts is sent then.
 */
import type { Pod, PodStatus } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import type { Client } from "#client/client.ts";
import { isStatusChange } from "#kubelet/decide/status-change.ts";
import { statusPatch } from "#kubelet/decide/status-patch.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

/** Waiting reasons of containers of a new pod. */
const CREATING: ReadonlySet<string> = new Set(["ContainerCreating", "PodInitializing"]);
/** Pods that came at once are all counted after this time. */
const COUNTED_MS = 20;
/** When the kubelet ends, a status that was held back is sent within this time. */
const HELD_MS_MAX = 1_000;

export interface StatusManagerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The pod as the server has it: of a static pod its mirror. */
  apiPod(uid: string): Pod | undefined;
  /** So long after it had changed, a status was with the server. */
  onSynced?(seconds: number): void;
  /** The first status of a pod waits for this. */
  waitForTurn?(signal: AbortSignal): Promise<void>;
}

interface Entry {
  pod: Pod;
  status: PodStatus;
  /** What was sent last, and the revision that the pod had then. */
  sent: { readonly status: PodStatus; readonly resourceVersion: number } | undefined;
  isDirty: boolean;
  /** Since when the server lacks something. */
  changedMs: number | undefined;
  finish: "no" | "wanted" | "done";
  running: Promise<void> | undefined;
  /** Ends the wait of the first status. */
  hold: AbortController | undefined;
}

export class StatusManager {
  readonly #options: StatusManagerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #signal: AbortSignal;

  constructor(options: StatusManagerOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** What was set last. */
  get(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /**
   * Whether a changed pod needs no step of its worker, because it differs only by a status that was sent from
   * here. While one is being sent that is not known yet: it is compared once more afterwards.
   */
  isEcho(old: Pod, next: Pod): boolean {
    const entry = this.#entries.get(next.metadata.uid ?? "");
    if (entry === undefined || !isStatusChange(old, next, entry.status)) return false;
    if (entry.running === undefined) {
      return statusPatch(knownStatus(next, entry), entry.status) === undefined;
    }
    entry.isDirty = true;
    return true;
  }

  set(pod: Pod, status: PodStatus): void {
    const uid = pod.metadata.uid ?? "";
    const entry = this.#entries.get(uid) ?? {
      ...{ pod, status, sent: undefined, isDirty: false, finish: "no", running: undefined },
      ...{ changedMs: undefined, hold: undefined },
    };
    this.#entries.set(uid, entry);
    entry.pod = pod;
    entry.status = status;
    if (!isBeingCreated(status)) entry.hold?.abort();
    entry.isDirty = true;
    entry.changedMs ??= this.#options.clock.elapsedMs();
    this.#start(uid, entry);
  }

  /** The pod was deleted and nothing of it is left on the node. */
  finish(pod: Pod): void {
    const entry = this.#entries.get(pod.metadata.uid ?? "");
    if (entry === undefined || entry.finish !== "no") return;
    entry.finish = "wanted";
    entry.hold?.abort();
    entry.isDirty = true;
    this.#start(pod.metadata.uid ?? "", entry);
  }

  /** Resolves when everything that was set before is with the server. */
  async flushed(): Promise<void> {
    const running = [...this.#entries.values()].map((entry) => entry.running);
    await Promise.all(running.filter((one) => one !== undefined));
  }

  forget(uid: string): void {
    this.#entries.delete(uid);
  }

  /** The mirror of a static pod appeared: it needs the status that was set already. */
  resend(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    entry.sent = undefined;
    entry.isDirty = true;
    this.#start(uid, entry);
  }

  #start(uid: string, entry: Entry): void {
    entry.running ??= this.#run(uid, entry).finally(() => {
      entry.running = undefined;
      if (entry.isDirty && !this.#signal.aborted && this.#entries.get(uid) === entry) {
        this.#start(uid, entry);
      }
    });
  }

  async #run(uid: string, entry: Entry): Promise<void> {
    const { clock, random, logger } = this.#options;
    const backoff = new Backoff({ baseMs: 200, capMs: 10_000, jitter: 0.5, random });
    while (entry.isDirty && !this.#signal.aborted && this.#entries.get(uid) === entry) {
      entry.isDirty = false;
      try {
        await this.#send(uid, entry);
        backoff.reset();
      } catch (error) {
        if (this.#signal.aborted) return;
        entry.isDirty = true;
        logger.debug("a pod's status could not be sent", { uid, error });
        await clock.sleep(backoff.nextMs(), this.#signal).catch(() => undefined);
      }
    }
  }

  /** The pods of a burst have been counted when it ends. True if the signal aborted meanwhile. */
  async #waitForTurn(uid: string, entry: Entry): Promise<boolean> {
    const { waitForTurn, clock } = this.#options;
    const isFirst = this.#options.apiPod(uid)?.status.startTime === undefined;
    if (waitForTurn === undefined || !isFirst || entry.sent !== undefined) return false;
    if (!isBeingCreated(entry.status) || entry.finish !== "no") return false;
    entry.hold = new AbortController();
    const signal = AbortSignal.any([this.#signal, entry.hold.signal]);
    await clock.sleep(COUNTED_MS, signal).catch(() => undefined);
    if (!signal.aborted) await waitForTurn(signal);
    entry.hold = undefined;
    return this.#signal.aborted;
  }

  async #send(uid: string, entry: Entry): Promise<void> {
    if (await this.#waitForTurn(uid, entry)) {
      const { clock } = this.#options;
      await withTimeout(clock, HELD_MS_MAX, (own) => this.#sendNow(uid, entry, own));
    } else await this.#sendNow(uid, entry, this.#signal);
  }

  async #sendNow(uid: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const pod = this.#options.apiPod(uid);
    if (pod === undefined) return; // deleted, or a mirror that is not there yet: see resend
    const { namespace, name = "", uid: apiUid = "" } = pod.metadata;
    const old = knownStatus(pod, entry);
    const patch = statusPatch(old, entry.status);
    const { client } = this.#options;
    if (patch !== undefined) {
      const next = entry.status;
      const answer = await client.patch(
        podKind,
        { namespace, name },
        "strategic",
        { metadata: { uid: apiUid }, status: patch },
        { subresource: "status" },
        signal,
      );
      if (!answer.ok) {
        const { code = 0, message } = answer.status;
        if (code === 404 || code === 409) return; // gone, or another pod of the same name
        throw new Error(message);
      }
      const { resourceVersion } = answer.value.metadata;
      entry.sent = { status: next, resourceVersion: Number(resourceVersion) };
      if (entry.changedMs !== undefined) {
        this.#options.onSynced?.((this.#options.clock.elapsedMs() - entry.changedMs) / 1000);
      }
    }
    if (!entry.isDirty) entry.changedMs = undefined;
    if (entry.finish !== "wanted") return;
    const gone = await client.delete(
      podKind,
      { namespace, name },
      { uid: apiUid, gracePeriodSeconds: 0 },
      signal,
    );
    if (!gone.ok && gone.status.code !== 404 && gone.status.code !== 409) {
      throw new Error(gone.status.message);
    }
    entry.finish = "done";
  }
}

/** It says nothing but that the containers of a new pod are being created. */
function isBeingCreated(status: PodStatus): boolean {
  const { phase, podIP, initContainerStatuses = [], containerStatuses = [] } = status;
  if (phase !== "Pending" || podIP !== undefined || containerStatuses.length === 0) return false;
  return [...initContainerStatuses, ...containerStatuses].every(({ state }) =>
    CREATING.has(state?.waiting?.reason ?? ""),
  );
}

/**
 * The status that the server has, without conditions of others. The pod may be older than the last write.
 */
function knownStatus({ metadata, status = {} }: Pod, { sent, status: next }: Entry): PodStatus {
  if (sent === undefined) return status;
  if (Number(metadata.resourceVersion) < sent.resourceVersion) return sent.status;
  const own = [sent.status, next].flatMap(({ conditions = [] }) => conditions);
  const types = new Set(own.map(({ type }) => type));
  const conditions = (status.conditions ?? []).filter(({ type }) => types.has(type));
  return { ...status, conditions };
}
