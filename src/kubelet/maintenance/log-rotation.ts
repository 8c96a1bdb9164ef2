/**
 * Rotates the logs of running containers.
 *
 * Promises:
 * 1. A log that has grown beyond the limit is renamed with the time, and the runtime opens a new one;
 *    when the runtime cannot, the old name comes back.
 * 2. Rotated files are compressed at the next rotation, so that readers can finish; at most
 *    `filesMax` files of a container are kept, the one that is written included.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Pod } from "#api/generated/core.v1.ts";
import { listFolder } from "#host/files.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import { decideLogFiles, rotationStamp } from "#kubelet/decide/node/log-files.ts";
import { type PodPaths, podLogFolder } from "#kubelet/pods/pod-paths.ts";
import { codeOf, messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

export interface LogRotationOptions {
  readonly runtime: Pick<RuntimeService, "reopenContainerLog">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly paths: PodPaths;
  /** With their latest statuses: which containers run need not be asked from the runtime. */
  pods(): Iterable<Pod>;
  readonly bytesMax: number;
  readonly filesMax: number;
  readonly checkMs: number;
}

interface RunningLog {
  readonly log: string;
  readonly containerId: string;
}

const SIZES_AT_ONCE = 32;

export async function runLogRotation(
  options: LogRotationOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, checkMs } = options;
  while (!signal.aborted) {
    await clock.sleep(checkMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await rotateLogs(options);
    } catch (error) {
      if (!signal.aborted) logger.warn("logs were not rotated", { why: messageOf(error) });
    }
  }
}

/** Looks at every running container once. */
async function rotateLogs(options: LogRotationOptions): Promise<void> {
  const logs = [...options.pods()].flatMap((pod) => runningLogs(pod, options));
  // Many sizes at once: one after the other, each would wake the event loop. One rotation at a time.
  for (let at = 0; at < logs.length; at += SIZES_AT_ONCE) {
    const some = logs.slice(at, at + SIZES_AT_ONCE);
    const sizes = await Promise.allSettled(some.map(({ log }) => sizeOf(log)));
    for (const [i, log] of some.entries()) await rotateIfNeeded(log, sizes[i]!, options);
  }
}

async function rotateIfNeeded(
  { log, containerId }: RunningLog,
  size: PromiseSettledResult<number | undefined>,
  options: LogRotationOptions,
): Promise<void> {
  const { runtime, logger, bytesMax } = options;
  try {
    if (size.status === "rejected") throw size.reason;
    if (size.value === undefined) await runtime.reopenContainerLog({ containerId });
    else if (size.value >= bytesMax) await rotate(log, containerId, options);
  } catch (error) {
    logger.warn("a container's log was not rotated", { log, why: messageOf(error) });
  }
}

/** The log files that are written, by the statuses of the pod's containers. */
function runningLogs(pod: Pod, { paths }: LogRotationOptions): RunningLog[] {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = pod.status ?? {};
  const all = [initContainerStatuses, containerStatuses, ephemeralContainerStatuses];
  return all.flatMap((statuses) =>
    (statuses ?? []).flatMap(({ name, state, restartCount, containerID = "" }) => {
      if (state?.running === undefined || containerID === "") return [];
      const containerId = containerID.slice(containerID.indexOf("://") + 3);
      return [{ log: join(podLogFolder(paths, pod), name, `${restartCount}.log`), containerId }];
    }),
  );
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function rotate(
  log: string,
  containerId: string,
  { runtime, clock, filesMax }: LogRotationOptions,
): Promise<void> {
  const folder = dirname(log);
  const names = (await listFolder(folder)).filter((name) => name.startsWith(`${basename(log)}.`));
  const { remove, compress } = decideLogFiles(names, filesMax);
  for (const name of remove) await rm(join(folder, name), { force: true });
  for (const name of compress) await gzipFile(join(folder, name));
  const rotated = `${log}.${rotationStamp(clock.nowMs())}`;
  await rename(log, rotated);
  try {
    await runtime.reopenContainerLog({ containerId });
  } catch (error) {
    await rename(rotated, log);
    throw error;
  }
}

async function gzipFile(path: string): Promise<void> {
  const { mode } = await stat(path);
  const draft = `${path}.tmp`;
  await pipeline(createReadStream(path), createGzip(), createWriteStream(draft, { mode }));
  await rename(draft, `${path}.gz`);
  await rm(path);
}
