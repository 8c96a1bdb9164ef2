/**
 * Administers an etcd cluster: members, their states, defragmentation, leadership, snapshots.
 *
 * Calls about the cluster go to the first of the endpoints that answers; calls about one member go to
 * that member. Failures are `GrpcError` with etcd's own words.
 */
import { messageOf } from "#lib/caught.ts";
import type { GrpcChannel } from "#lib/grpc/grpc-channel.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import type { TlsOptions } from "#lib/http2/connect-http2.ts";
import type { Clock } from "#lib/time/clock.ts";
import { channelTo } from "#store/etcd/endpoints.ts";
import type { Method } from "#store/etcd/rpc.ts";
import * as rpc from "./admin-rpc.ts";

export interface EtcdAccess {
  /** `https://host:2379` of any members. */
  readonly endpoints: readonly string[];
  readonly tls?: TlsOptions;
  readonly clock: Clock;
}

const CALL_TIMEOUT_MS = 5_000;
/** A database of gigabytes on a slow disk takes minutes. */
const DEFRAGMENT_TIMEOUT_MS = 10 * 60_000;
const HEALTHY_EVERY_MS = 500;
const HEALTHY_TIMEOUT_MS = 60_000;
const PROMOTE_EVERY_MS = 200;
const PROMOTE_TIMEOUT_MS = 10 * 60_000;

export class EtcdAdmin implements Disposable {
  readonly #access: EtcdAccess;
  readonly #channels = new Map<string, GrpcChannel>();

  constructor(access: EtcdAccess) {
    this.#access = access;
  }

  async members(signal?: AbortSignal): Promise<readonly rpc.Member[]> {
    return (await this.#ask(rpc.memberList, {}, signal)).members;
  }

  /** A learner has no vote until it is promoted, so a cluster that was healthy stays so. */
  async addLearner(peerUrl: string, signal?: AbortSignal): Promise<readonly rpc.Member[]> {
    const request = { peerUrls: [peerUrl], isLearner: true };
    return (await this.#askWhenHealthy(rpc.memberAdd, request, signal)).members;
  }

  async remove(id: bigint, signal?: AbortSignal): Promise<readonly rpc.Member[]> {
    return (await this.#askWhenHealthy(rpc.memberRemove, { id }, signal)).members;
  }

  async setPeerUrl(id: bigint, peerUrl: string, signal?: AbortSignal): Promise<void> {
    await this.#ask(rpc.memberUpdate, { id, peerUrls: [peerUrl] }, signal);
  }

  /** Gives a learner its vote once it has caught up with the leader. */
  async promote(id: bigint, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#access;
    const endMs = clock.elapsedMs() + PROMOTE_TIMEOUT_MS;
    for (;;) {
      try {
        await this.#ask(rpc.memberPromote, { id }, signal);
        return;
      } catch (error) {
        if (/can only promote a learner member$/.test(messageOf(error))) return; // it has a vote
        const waits = /in sync with leader|too many requests|no leader|timed out/;
        const isEarly = waits.test(messageOf(error)) || isUnreachable(error);
        if (!isEarly || clock.elapsedMs() > endMs) throw error;
        await clock.sleep(PROMOTE_EVERY_MS, signal);
      }
    }
  }

  async status(endpoint: string, signal?: AbortSignal): Promise<rpc.MemberStatus> {
    return await this.#call(endpoint, rpc.memberStatus, {}, CALL_TIMEOUT_MS, signal);
  }

  async alarms(signal?: AbortSignal): Promise<readonly rpc.Alarm[]> {
    return (await this.#ask(rpc.alarm, { action: rpc.ALARM_ACTION.get }, signal)).alarms;
  }

  async disarm({ memberId, alarm }: rpc.Alarm, signal?: AbortSignal): Promise<void> {
    const action = rpc.ALARM_ACTION.deactivate;
    await this.#ask(rpc.alarm, { action, memberId, alarm }, signal);
  }

  async defragment(endpoint: string, signal?: AbortSignal): Promise<void> {
    await this.#call(endpoint, rpc.defragment, {}, DEFRAGMENT_TIMEOUT_MS, signal);
  }

  /** `endpoint` is the leader's. */
  async moveLeader(endpoint: string, target: bigint, signal?: AbortSignal): Promise<void> {
    await this.#call(endpoint, rpc.moveLeader, { target }, CALL_TIMEOUT_MS, signal);
  }

  /** All of a member's data, in parts. */
  async *snapshot(endpoint: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const parts: Uint8Array[] = [];
    let end: { readonly error: GrpcError | undefined } | undefined;
    let wake = (): void => undefined;
    const stream = await this.#channel(endpoint).open(rpc.snapshot, {
      onMessage: ({ blob }) => {
        parts.push(Buffer.from(blob));
        stream.pause();
        wake();
      },
      onEnd: (error) => {
        end = { error };
        wake();
      },
    });
    const abort = (): void => wake();
    signal?.addEventListener("abort", abort, { once: true });
    stream.write({}, { isLast: true });
    try {
      for (;;) {
        signal?.throwIfAborted();
        const part = parts.shift();
        if (part !== undefined) {
          yield part;
          stream.resume();
        } else if (end !== undefined) {
          if (end.error !== undefined) throw end.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      signal?.removeEventListener("abort", abort);
      stream.cancel();
    }
  }

  [Symbol.dispose](): void {
    for (const channel of this.#channels.values()) channel.close();
  }

  /**
   * Members are changed only while all others have been connected for some seconds, and one learner at a
   * time: what is too early is asked again.
   */
  async #askWhenHealthy<Request, Response>(
    method: Method<Request, Response>,
    request: Partial<Request>,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const { clock } = this.#access;
    const endMs = clock.elapsedMs() + HEALTHY_TIMEOUT_MS;
    for (;;) {
      try {
        return await this.#ask(method, request, signal);
      } catch (error) {
        const isEarly = /unhealthy cluster|too many learner members/.test(messageOf(error));
        if (!isEarly || clock.elapsedMs() > endMs) throw error;
        await clock.sleep(HEALTHY_EVERY_MS, signal);
      }
    }
  }

  /** The first member that can be reached answers. */
  async #ask<Request, Response>(
    method: Method<Request, Response>,
    request: Partial<Request>,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const reasons: string[] = [];
    for (const endpoint of this.#access.endpoints) {
      try {
        return await this.#call(endpoint, method, request, CALL_TIMEOUT_MS, signal);
      } catch (error) {
        if (!isUnreachable(error)) throw error;
        reasons.push(`${endpoint}: ${messageOf(error)}`);
      }
    }
    const why = `no etcd member answers: ${reasons.join("; ")}`;
    throw new GrpcError(GRPC_CODES.UNAVAILABLE, why);
  }

  #call<Request, Response>(
    endpoint: string,
    method: Method<Request, Response>,
    request: Partial<Request>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    return this.#channel(endpoint).call(method, request, { timeoutMs, signal });
  }

  #channel(endpoint: string): GrpcChannel {
    let channel = this.#channels.get(endpoint);
    if (channel === undefined) {
      channel = channelTo(endpoint, this.#access);
      this.#channels.set(endpoint, channel);
    }
    return channel;
  }
}

/** Etcd's notation of a member's ID. */
export function memberIdText(id: bigint): string {
  return BigInt.asUintN(64, id).toString(16);
}

function isUnreachable(error: unknown): boolean {
  if (!(error instanceof GrpcError)) return false;
  const isUnanswered = [GRPC_CODES.UNAVAILABLE, GRPC_CODES.DEADLINE_EXCEEDED].some(
    (code) => code === error.code,
  );
  // A learner answers only about itself.
  return isUnanswered || /rpc not supported for learner/.test(error.message);
}
