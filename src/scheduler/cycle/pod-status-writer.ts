/**
 * Writes what the scheduler says in a pod's status: the PodScheduled condition and the nominated
 * node. Writes run beside the scheduling loop.
 *
 * Promises:
 * 1. Writes of one pod happen in order. A write that has not begun is replaced by a newer one.
 * 2. Nothing is written that the pod's status already says.
 * 3. After `drop`, which is called before a pod is bound, nothing that has not begun is written.
 */
import type { Pod, PodCondition } from "#api/generated/core.v1.ts";
import { podKind } from "#api/kinds/core/v1/pod.ts";
import { timeFromMs } from "#api/meta/time.ts";
import type { Client } from "#client/client.ts";
import type { ConcurrencyLimit } from "#lib/async/concurrency-limit.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const TRIES_MAX = 4;
const RETRY_MS = 50;

export interface StatusChange {
  readonly condition?: { readonly reason: string; readonly message: string };
  /** Empty clears the nomination; undefined leaves it. */
  readonly nominatedNodeName?: string;
}

export interface PodStatusWriterOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Writes run within it. */
  readonly calls: ConcurrencyLimit;
  readonly signal: AbortSignal;
}

interface Writing {
  /** The change that comes next. */
  next: { readonly pod: Pod; readonly change: StatusChange } | undefined;
  isDropped: boolean;
}

export class PodStatusWriter {
  readonly #options: PodStatusWriterOptions;
  /** By the uid of the pod whose status is being written. */
  readonly #writing = new Map<string, Writing>();

  constructor(options: PodStatusWriterOptions) {
    this.#options = options;
  }

  get pending(): number {
    return this.#writing.size;
  }

  write(pod: Pod, change: StatusChange): void {
    const uid = pod.metadata.uid ?? "";
    const known = this.#writing.get(uid);
    if (known !== undefined) {
      known.next = { pod, change: { ...known.next?.change, ...change } };
      return;
    }
    const patch = statusPatch(pod, change, this.#options.clock.nowMs());
    if (patch === undefined) return;
    const writing: Writing = { next: undefined, isDropped: false };
    this.#writing.set(uid, writing);
    const send = async (): Promise<void> => {
      if (!writing.isDropped) await this.#send(pod, patch);
    };
    void this.#options.calls.run(send).finally(() => {
      const { next } = writing;
      this.#writing.delete(uid);
      if (next !== undefined && !this.#options.signal.aborted) this.write(next.pod, next.change);
    });
  }

  drop(uid: string): void {
    const writing = this.#writing.get(uid);
    if (writing === undefined) return;
    writing.isDropped = true;
    writing.next = undefined;
  }

  async #send(pod: Pod, patch: unknown): Promise<void> {
    const { client, clock, logger, signal } = this.#options;
    const { namespace, name = "" } = pod.metadata;
    for (let tries = 1; ; tries++) {
      let why: string | undefined;
      try {
        const result = await client.patch(
          podKind,
          { namespace, name },
          "strategic",
          patch,
          { subresource: "status" },
          signal,
        );
        if (result.ok || result.status.reason === "NotFound") return;
        why = result.status.message;
        if (result.status.reason !== "Conflict" && (result.status.code ?? 0) < 500)
          tries = TRIES_MAX;
      } catch (error) {
        if (signal.aborted) return;
        why = String(error);
      }
      if (tries >= TRIES_MAX) {
        logger.warn("the status of a pod could not be written", {
          pod: `${namespace}/${name}`,
          why,
        });
        return;
      }
      await clock.sleep(RETRY_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
    }
  }
}

/** The patch that makes the status say it; undefined if it does already. */
function statusPatch(
  { metadata, status }: Pod,
  { condition, nominatedNodeName }: StatusChange,
  nowMs: number,
): unknown {
  const known = status?.conditions?.find(({ type }) => type === "PodScheduled");
  const conditions =
    condition === undefined ? [] : updated(known, condition, metadata.generation, nowMs);
  const isNominated =
    nominatedNodeName !== undefined && nominatedNodeName !== (status?.nominatedNodeName ?? "");
  if (conditions.length === 0 && !isNominated) return undefined;
  return {
    metadata: { uid: metadata.uid },
    status: {
      ...(conditions.length === 0 ? {} : { conditions }),
      ...(isNominated
        ? { nominatedNodeName: nominatedNodeName === "" ? null : nominatedNodeName }
        : {}),
    },
  };
}

function updated(
  known: PodCondition | undefined,
  { reason, message }: { readonly reason: string; readonly message: string },
  generation: number | undefined,
  nowMs: number,
): readonly unknown[] {
  if (
    known?.status === "False" &&
    known.reason === reason &&
    known.message === message &&
    known.observedGeneration === generation
  ) {
    return [];
  }
  const isChanged = known?.status !== "False";
  return [
    {
      type: "PodScheduled",
      status: "False",
      reason,
      message,
      lastProbeTime: null,
      lastTransitionTime: isChanged ? timeFromMs(nowMs) : known.lastTransitionTime,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
    },
  ];
}
