/**
 * Ends containers: preStop, the stop signal, the rest of the grace period, SIGKILL. Regular
 * containers end together; sidecars end after them, in the reverse of the order in which they
 * started.
 */
import type { Container, Pod } from "#api/generated/core.v1.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import type { KillReason } from "#kubelet/decide/pod-actions.ts";
import type { ContainerRun } from "#kubelet/decide/pod-runtime.ts";
import { isSidecar } from "#kubelet/decide/restart.ts";
import { messageOf } from "#lib/caught.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";
import { runHook } from "./lifecycle-hooks.ts";
import type { PodEvents } from "./pod-events.ts";

/** Even with no grace at all a program gets this long between the signals. */
const GRACE_MIN_SECONDS = 2;
/** On top of the grace, for the runtime itself. */
const CALL_TIMEOUT_MS = 120_000;

export interface StopTools {
  readonly clock: Clock;
  readonly runtime: Pick<RuntimeService, "execSync" | "stopContainer">;
  readonly events: PodEvents;
  readonly logger: Logger;
}

export interface Stop {
  readonly pod: Pod;
  readonly run: ContainerRun;
  readonly container: Container | undefined;
  readonly graceSeconds: number;
  /** Of the event; "Stopping container X" unless given. */
  readonly message?: string;
  readonly podIp: string | undefined;
  /** A second, shorter attempt runs no hooks and writes no events. */
  readonly isRepeat: boolean;
}

/** The grace period of a container. */
export function graceOf(pod: Pod, container: Container | undefined, reason?: KillReason): number {
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (deletionGracePeriodSeconds !== undefined) return deletionGracePeriodSeconds;
  const probe =
    reason === "liveness-probe"
      ? container?.livenessProbe
      : reason === "startup-probe"
        ? container?.startupProbe
        : undefined;
  return (
    probe?.terminationGracePeriodSeconds ??
    pod.spec.terminationGracePeriodSeconds ??
    GRACE_MIN_SECONDS
  );
}

/** `turn`: the container waits with its signal until it resolves, as far as its grace allows. */
export async function stopContainer(
  stop: Stop,
  tools: StopTools,
  signal: AbortSignal,
  turn?: Promise<unknown>,
): Promise<void> {
  const { pod, run, container, podIp, isRepeat } = stop;
  const { clock, runtime, events } = tools;
  const endMs = clock.elapsedMs() + stop.graceSeconds * 1000;
  const leftMs = (): number => endMs - clock.elapsedMs();
  if (!isRepeat) {
    const message = stop.message ?? `Stopping container ${run.name}`;
    events.container(pod, run.name, "Normal", "Killing", message);
    const handler = container?.lifecycle?.preStop;
    if (handler !== undefined && container !== undefined && stop.graceSeconds > 0) {
      const hook = { pod, container, containerId: run.id, podIp, handler };
      await withinGrace(clock, leftMs(), signal, async (own) => {
        const failure = await runHook(hook, tools, own);
        if (failure === undefined) return;
        tools.logger.info("preStop hook failed", { pod: pod.metadata.name, failure });
        events.container(pod, run.name, "Warning", "FailedPreStopHook", "PreStopHook failed");
      });
    }
    if (turn !== undefined && leftMs() > 0) {
      await withinGrace(clock, leftMs(), signal, () => turn.then(() => undefined));
    }
  }
  if (signal.aborted) return;
  const timeout = Math.max(GRACE_MIN_SECONDS, Math.ceil(leftMs() / 1000));
  try {
    const timeoutMs = timeout * 1000 + CALL_TIMEOUT_MS;
    await runtime.stopContainer({ containerId: run.id, timeout }, { timeoutMs });
  } catch (error) {
    if (error instanceof GrpcError && error.code === GRPC_CODES.NOT_FOUND) return;
    throw new Error(`failed to stop container ${run.name}: ${messageOf(error)}`, { cause: error });
  }
}

export interface StopAll {
  readonly pod: Pod;
  readonly runs: readonly ContainerRun[];
  readonly podIp: string | undefined;
  /** Instead of what the pod says. */
  readonly graceSeconds?: number | undefined;
  readonly isRepeat: boolean;
}

export async function stopContainers(
  { pod, runs, podIp, graceSeconds, isRepeat }: StopAll,
  tools: StopTools,
  signal: AbortSignal,
): Promise<void> {
  const init = pod.spec.initContainers ?? [];
  const others = [...(pod.spec.containers ?? []), ...(pod.spec.ephemeralContainers ?? [])];
  const specs = new Map<string, Container>([...init, ...others].map((one) => [one.name, one]));
  const ended = new Map<string, Promise<void>>();
  const stopOne = (run: ContainerRun, turn?: Promise<unknown>): Promise<void> => {
    const container = specs.get(run.name);
    const grace = graceSeconds ?? graceOf(pod, container);
    const stop = { pod, run, container, graceSeconds: grace, podIp, isRepeat };
    return stopContainer(stop, tools, signal, turn);
  };
  const alive = runs.filter(({ state }) => state === "running" || state === "unknown");
  const sidecars = init.filter(isSidecar).map(({ name }) => name);
  const isLate = (run: ContainerRun): boolean => sidecars.includes(run.name);
  for (const run of alive.filter((one) => !isLate(one))) ended.set(run.id, stopOne(run));
  for (const name of [...sidecars].reverse()) {
    const before = Promise.allSettled([...ended.values()]);
    for (const run of alive.filter((one) => one.name === name)) {
      ended.set(run.id, stopOne(run, before));
    }
  }
  const results = await Promise.allSettled(ended.values());
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** Waits for the work at most as long as the grace lasts; work that is not done is given up. */
async function withinGrace(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const own = new AbortController();
  const giveUp = (): void => own.abort(new Error("the grace period is over"));
  signal.addEventListener("abort", giveUp, { once: true });
  const timer = clock.schedule(Math.max(0, limitMs), giveUp);
  const over = new Promise<void>((resolve) => {
    own.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  try {
    await Promise.race([work(own.signal), over]);
  } catch (error) {
    if (!own.signal.aborted) throw error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", giveUp);
    giveUp();
  }
}
