/**
 * One active instance among several, by a Lease.
 *
 * Promises:
 * 1. `lead` is called when this instance holds the lease and its signal aborts before another
 *    instance can take it: at the latest `renewDeadlineMs` after the last renewal that succeeded,
 *    which is shorter than the lease itself.
 * 2. Other instances' clocks are never compared with ours: a lease is taken over only after it was
 *    seen unchanged for its whole duration by our own clock.
 * 3. A process that was stopped for longer than that, and goes on, sends no write through its
 *    LeaderTransport, even if it handles what has arrived meanwhile before the signal aborts.
 * 4. When the outer signal aborts the lease is released, so that another can take over at once.
 */
import type { Lease } from "#api/generated/coordination.v1.ts";
import type { Draft, KubeObject } from "#api/kind.ts";
import type { Result } from "#api/meta/status.ts";
import { microTimeFromMs } from "#api/meta/time.ts";
import { onAbort } from "#lib/async/aborted.ts";
import { withTimeout } from "#lib/async/sleep.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import type { Client, Typed } from "./client.ts";
import { HeldLease } from "./leader-transport.ts";

export interface LeaderElectionOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** Records until when this instance may act; a LeaderTransport refuses later writes. */
  readonly held?: HeldLease;
}

const leaseRef: Typed<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  apiVersion: "coordination.k8s.io/v1",
  scope: "Namespaced",
  names: { kind: "Lease", plural: "leases" },
};

/** Runs `lead` whenever this instance leads, until the signal aborts. */
export async function runLeaderElection(
  options: LeaderElectionOptions,
  lead: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const elector = new Elector({
    leaseDurationMs: 15_000,
    renewDeadlineMs: 10_000,
    retryPeriodMs: 2_000,
    held: new HeldLease(options.clock),
    ...options,
  });
  while (!signal.aborted) {
    if (!(await elector.acquire(signal))) return;
    options.logger.info("leading", { lease: options.name, identity: options.identity });
    const term = new AbortController();
    const end = (): void => term.abort(signal.reason);
    onAbort(signal, end);
    const work = lead(term.signal);
    // One that does not work must not keep others from it; the failure is looked at below.
    work.catch((error: unknown) => term.abort(error));
    await elector.holdOn(term.signal);
    term.abort(new Error("the lease was lost"));
    signal.removeEventListener("abort", end);
    await work;
    elector.endTerm();
    if (signal.aborted) await elector.release();
    else options.logger.warn("no longer leading", { lease: options.name });
  }
}

class Elector {
  readonly #options: Required<LeaderElectionOptions>;
  #seen: { readonly record: string; readonly atMs: number } | undefined;
  /** As we wrote it last. */
  #held: Lease | undefined;
  #waitedFor: string | undefined;
  /** When the last attempt to take or renew the lease began. */
  #askedAtMs = 0;

  constructor(options: Required<LeaderElectionOptions>) {
    this.#options = options;
  }

  /** True once the lease is ours, false when the signal aborts first. */
  async acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if (await this.#tryOnce(signal)) return true;
      await this.#pause(signal);
    }
    return false;
  }

  /** Renews until that fails for the whole renew deadline, or the signal aborts. */
  async holdOn(signal: AbortSignal): Promise<void> {
    const { clock, renewDeadlineMs, held } = this.#options;
    let renewedMs = this.#askedAtMs;
    held.holdUntil(renewedMs + renewDeadlineMs);
    const leftMs = (): number => renewDeadlineMs - (clock.elapsedMs() - renewedMs);
    while (!signal.aborted && leftMs() > 0) {
      await this.#pause(signal, leftMs());
      if (signal.aborted || leftMs() <= 0) return;
      const renewed = await withTimeout(clock, leftMs(), (s) => this.#tryOnce(s), signal).catch(
        () => false,
      );
      if (!renewed) continue;
      renewedMs = this.#askedAtMs;
      held.holdUntil(renewedMs + renewDeadlineMs);
    }
  }

  /** The work of the leader has ended. */
  endTerm(): void {
    this.#options.held.end();
  }

  async release(): Promise<void> {
    const { client, clock } = this.#options;
    if (this.#held === undefined) return;
    const lease = structuredClone(this.#held) as Draft<Lease>;
    const now = microTimeFromMs(clock.nowMs());
    lease.spec = {
      ...lease.spec,
      holderIdentity: "",
      leaseDurationSeconds: 1,
      renewTime: now,
      acquireTime: now,
    };
    await client.update(leaseRef, lease).catch(() => undefined);
    this.#held = undefined;
  }

  async #tryOnce(signal: AbortSignal): Promise<boolean> {
    const { client, clock, namespace, name } = this.#options;
    this.#askedAtMs = clock.elapsedMs();
    try {
      if (this.#held !== undefined && (await this.#renewHeld(this.#held, signal))) return true;
      const current = await client.get(leaseRef, { namespace, name }, signal);
      if (!current.ok) {
        if (current.status.reason !== "NotFound") return false;
        return this.#take(await client.create(leaseRef, this.#record(undefined), {}, signal));
      }
      if (!this.#mayTake(current.value)) {
        this.#logHolder(current.value.spec.holderIdentity ?? "");
        return false;
      }
      return this.#take(await client.update(leaseRef, this.#record(current.value), {}, signal));
    } catch {
      return false;
    }
  }

  /** One request, as long as nothing else has written the lease since we did: then it is read first. */
  async #renewHeld(lease: Lease, signal: AbortSignal): Promise<boolean> {
    const { client } = this.#options;
    return this.#take(await client.update(leaseRef, this.#record(lease), {}, signal));
  }

  /** Logs once for each holder that is waited for. */
  #logHolder(holder: string): void {
    if (this.#waitedFor === holder) return;
    this.#waitedFor = holder;
    const { logger, name, identity } = this.#options;
    logger.info("waiting for the lease", { lease: name, holder, identity });
  }

  /** Ours, free, or not renewed for its whole duration while we watched. */
  #mayTake(lease: Lease): boolean {
    const { clock, identity } = this.#options;
    const { holderIdentity = "", leaseDurationSeconds = 0, renewTime = "" } = lease.spec;
    const record = `${holderIdentity} ${renewTime} ${lease.spec.leaseTransitions ?? 0}`;
    if (this.#seen?.record !== record) this.#seen = { record, atMs: clock.elapsedMs() };
    if (holderIdentity === identity || holderIdentity === "") return true;
    return clock.elapsedMs() - this.#seen.atMs > leaseDurationSeconds * 1000;
  }

  #record(old: Lease | undefined): Lease {
    const { clock, namespace, name, identity, leaseDurationMs } = this.#options;
    const now = microTimeFromMs(clock.nowMs());
    const ours = old?.spec.holderIdentity === identity;
    const transitions = old?.spec.leaseTransitions ?? 0;
    return {
      apiVersion: leaseRef.apiVersion,
      kind: "Lease",
      metadata: old?.metadata ?? { namespace, name },
      spec: {
        ...old?.spec,
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: ours ? (old?.spec.acquireTime ?? now) : now,
        renewTime: now,
        leaseTransitions: old === undefined || ours ? transitions : transitions + 1,
      },
    };
  }

  #take(result: Result<Lease>): boolean {
    if (result.ok) {
      this.#held = result.value;
      this.#waitedFor = undefined;
    }
    return result.ok;
  }

  async #pause(signal: AbortSignal, mostMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { clock, random, retryPeriodMs } = this.#options;
    const pauseMs = Math.min(mostMs, retryPeriodMs * (1 + 0.2 * random.next()));
    await clock.sleep(pauseMs, signal).catch(() => undefined);
  }
}

const OLD_ANNOTATION = "control-plane.alpha.kubernetes.io/leader";

/** Who leads according to the old form, an annotation on an Endpoints or ConfigMap object. */
export function leaderInAnnotation(object: KubeObject): string | undefined {
  const text = object.metadata.annotations?.[OLD_ANNOTATION];
  if (text === undefined) return undefined;
  try {
    const { holderIdentity } = JSON.parse(text) as { holderIdentity?: unknown };
    return typeof holderIdentity === "string" && holderIdentity !== "" ? holderIdentity : undefined;
  } catch {
    return undefined;
  }
}
