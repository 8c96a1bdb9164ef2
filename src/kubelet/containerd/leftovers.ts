/**
 * What a node leaves on the machine when its process was killed: a containerd, shims with containers,
 * network namespaces, mounts and cgroups. All of it is found by the node's own paths.
 */

import { join } from "node:path";
import { openCgroups } from "#host/cgroups.ts";
import { removeTree } from "#host/files.ts";
import { unmountBelow } from "#host/mounts.ts";
import {
  killProcesses,
  listProcesses,
  type ProcessEntry,
  withDescendants,
} from "#host/processes.ts";
import type { Logger } from "#lib/logger.ts";
import type { Random } from "#lib/random.ts";
import type { Clock } from "#lib/time/clock.ts";
import { createCriClient } from "../cri/cri-client.ts";
import type { NodePaths } from "./node-paths.ts";
import { startOwnContainerd } from "./own-containerd.ts";
import { stopSandboxes } from "./stop-sandboxes.ts";

const KILL_TIMEOUT_MS = 3_000;
const STOP_TIMEOUT_MS = 3_000;

export interface Surroundings {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Ends a containerd whose k8ts was killed: two cannot work on one folder. Its containers go on. */
export async function endLeftoverContainerd(
  { containerdRoot }: NodePaths,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const isDaemon = ({ words }: ProcessEntry): boolean =>
    words.includes("--config") && words.includes(join(containerdRoot, "config.toml"));
  await killProcesses((await listProcesses()).filter(isDaemon), KILL_TIMEOUT_MS, clock, signal);
}

/** Ends the pods of a node that does not run, and removes what they used. */
export async function removeLeftoverPods(
  paths: NodePaths,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger } = surroundings;
  await endLeftoverContainerd(paths, clock, signal);
  // The runtime knows best how to end its pods: it also calls the network plug-ins.
  if ((await shimsOf(paths)).length > 0) {
    await stopThroughRuntime(paths, surroundings, signal).catch((error: unknown) =>
      logger.warn("containerd could not end the pods that were left", { error }),
    );
  }
  const all = await listProcesses();
  await killProcesses(withDescendants(await shimsOf(paths), all), KILL_TIMEOUT_MS, clock, signal);
  const cgroups = await openCgroups(clock);
  if (await cgroups.exists(paths.cgroupRoot)) await cgroups.remove(paths.cgroupRoot);
  await unmountBelow(paths.containerdState);
  await unmountBelow(paths.kubeletRoot);
  await unmountBelow(paths.containerdRoot);
  await removeTree(paths.containerdState);
}

async function shimsOf({ containerdState }: NodePaths): Promise<readonly ProcessEntry[]> {
  return (await listProcesses()).filter(
    ({ words }) =>
      words[0]?.includes("containerd-shim") === true &&
      words.some((word) => word.startsWith(`${containerdState}/`)),
  );
}

async function stopThroughRuntime(
  paths: NodePaths,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<void> {
  const life = new AbortController();
  const until = AbortSignal.any([life.signal, signal]);
  const containerd = await startOwnContainerd(paths, surroundings, until);
  try {
    using cri = createCriClient({ endpoint: containerd.endpoint });
    await stopSandboxes(cri, STOP_TIMEOUT_MS);
  } finally {
    life.abort();
    await containerd.ended;
  }
}
