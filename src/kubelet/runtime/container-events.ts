/**
 * Notifies when a container or sandbox of the runtime ended, so that nothing has to be polled.
 *
 * containerd's own event service is used where it is there (any version), otherwise CRI's event
 * stream, otherwise the containers are listed every second, until the runtime does not answer: what is
 * there after that may be another runtime. Whatever the source, everything is listed once in a while, so
 * that a lost event costs a minute at most.
 */

import { CONTAINER_STATE } from "#kubelet/cri/container-messages.ts";
import type { CriClient } from "#kubelet/cri/cri-client.ts";
import type { PlegMetrics } from "#kubelet/node/pleg-metrics.ts";
import { assertNever } from "#lib/assert-never.ts";
import { Backoff } from "#lib/async/backoff.ts";
import { GrpcClient } from "#lib/grpc/grpc-client.ts";
import { GRPC_CODES, GrpcError } from "#lib/grpc/grpc-status.ts";
import type { Logger } from "#lib/logger.ts";
import { message } from "#lib/protobuf/message.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";

const RELIST_MS = 60_000;
const POLL_MS = 1_000;
/** A runtime without events may end the stream at once instead of refusing it: CRI-O without `enable_pod_events`. */
const EMPTY_STREAM_MS = 1_000;
/** The runtime's own bookkeeping follows its events by this much at most. */
const SETTLE_PAUSES_MS = [5, 10, 20, 40, 80, 160, 320, 640, 1_280];

export interface ContainerEventsOptions {
  readonly cri: CriClient;
  readonly endpoint: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: PlegMetrics;
  /** The container or sandbox of this id changed. */
  onChange(id: string): void;
  /** Of the containers and sandboxes of pods, those that were not decided on in these states. */
  unseen(states: ReadonlyMap<string, number>): Iterable<string>;
}

const anyMessage = message({ typeUrl: [1, "text"], value: [2, "bytes"] });
const subscribe = {
  path: "/containerd.services.events.v1.Events/Subscribe",
  request: message({ filters: [1, { list: "text" }] }),
  response: message({
    namespace: [2, "text"],
    topic: [3, "text"],
    event: [4, { one: anyMessage }],
  }),
} as const;
const taskDelete = message({ containerId: [1, "text"], id: [5, "text"] });

/** Where changes are learned from, best first. */
type Source = "containerd" | "cri" | "relist";

export async function runContainerEvents(
  options: ContainerEventsOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, logger } = options;
  const backoff = new Backoff({ baseMs: 100, capMs: 5_000, random });
  void runRelist(options, signal);
  let source: Source = "containerd";
  while (!signal.aborted) {
    try {
      const end = await follow(source, options, signal);
      if (end === "unsupported") {
        source = source === "containerd" ? "cri" : "relist";
        logger.debug("the runtime has no such container events", { next: source });
        continue;
      }
      backoff.reset();
    } catch (error) {
      if (signal.aborted) return;
      logger.debug("container events are followed again", { error });
      if (source === "relist") source = "containerd";
      else options.metrics.connectionFailed();
    }
    await clock.sleep(backoff.nextMs(), signal).catch(() => undefined);
    await relistOnce(options).catch(() => undefined);
  }
}

/** `unsupported`: the runtime has no such events. Rejects if the connection broke or the runtime is away. */
async function follow(
  source: Source,
  options: ContainerEventsOptions,
  signal: AbortSignal,
): Promise<"ended" | "unsupported"> {
  try {
    switch (source) {
      case "containerd":
        await followContainerd(options, signal);
        return "ended";
      case "cri":
        return await followCri(options, signal);
      case "relist":
        await pollList(options, signal);
        return "ended";
      default:
        return assertNever(source);
    }
  } catch (error) {
    const isUnimplemented = error instanceof GrpcError && error.code === GRPC_CODES.UNIMPLEMENTED;
    if (isUnimplemented && source !== "relist") return "unsupported";
    throw error;
  }
}

async function followContainerd(
  { endpoint, cri, clock, metrics, onChange }: ContainerEventsOptions,
  signal: AbortSignal,
): Promise<void> {
  using client = new GrpcClient(endpoint);
  // Not /tasks/exit: that is sent for every process of exec, too, and so for every exec probe.
  const filters = [`topic=="/tasks/delete"`];
  metrics.connected();
  for await (const { event } of client.stream(subscribe, { filters }, signal)) {
    if (event === undefined) continue;
    metrics.event();
    const { containerId, id } = taskDelete.decode(event.value);
    if (id !== "" && id !== containerId) continue; // a process of exec
    void settled(cri, clock, containerId, signal).then(() => onChange(containerId));
  }
}

/** Waits until the runtime itself says that the container ended. Sandboxes are not waited for. */
async function settled(
  cri: CriClient,
  clock: Clock,
  containerId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const pauseMs of SETTLE_PAUSES_MS) {
    try {
      const { status } = await cri.runtime.containerStatus({ containerId }, { signal });
      if (status?.state === CONTAINER_STATE.EXITED) return;
    } catch {
      return; // a sandbox, or gone
    }
    await clock.sleep(pauseMs, signal).catch(() => undefined);
    if (signal.aborted) return;
  }
}

async function followCri(
  { cri, clock, metrics, onChange }: ContainerEventsOptions,
  signal: AbortSignal,
): Promise<"ended" | "unsupported"> {
  const startMs = clock.elapsedMs();
  let isEmpty = true;
  metrics.connected();
  for await (const { containerId } of cri.containerEvents(signal)) {
    isEmpty = false;
    metrics.event();
    onChange(containerId);
  }
  const isRefused = isEmpty && clock.elapsedMs() - startMs < EMPTY_STREAM_MS;
  return isRefused ? "unsupported" : "ended";
}

/** Rejects when the runtime does not answer. */
async function pollList(options: ContainerEventsOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await relistOnce(options);
    await options.clock.sleep(POLL_MS, signal).catch(() => undefined);
  }
}

async function runRelist(options: ContainerEventsOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await options.clock.sleep(RELIST_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    await relistOnce(options).catch(() => undefined);
  }
}

/** Reports whatever the runtime has in another state than a pod's worker has seen, and what it has lost. */
async function relistOnce({
  cri,
  clock,
  metrics,
  onChange,
  unseen,
}: ContainerEventsOptions): Promise<void> {
  const startMs = clock.elapsedMs();
  const [{ containers }, { items }] = await Promise.all([
    cri.runtime.listContainers({}),
    cri.runtime.listPodSandbox({}),
  ]);
  metrics.relisted((clock.elapsedMs() - startMs) / 1000);
  const states = new Map([...containers, ...items].map(({ id, state }) => [id, state]));
  for (const id of unseen(states)) onChange(id);
}
