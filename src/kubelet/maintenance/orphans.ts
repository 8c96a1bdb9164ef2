/**
 * Removes what no pod of the node owns any more: dead containers and sandboxes, and the folders,
 * logs and cgroups of pods that went while the kubelet did not run.
 */
import { join } from "node:path";
import type { Cgroups } from "#host/cgroups.ts";
import { listFolder, removeTree } from "#host/files.ts";
import { CONTAINER_STATE } from "#kubelet/cri/container-messages.ts";
import type { RuntimeService } from "#kubelet/cri/cri-client.ts";
import { SANDBOX_STATE } from "#kubelet/cri/sandbox-messages.ts";
import { decideRemovals } from "#kubelet/decide/node/dead-containers.ts";
import { kubepodsCgroup, qosCgroups } from "#kubelet/decide/pod-cgroup.ts";
import type { DraManager } from "#kubelet/dra/dra-manager.ts";
import type { PodPaths } from "#kubelet/pods/pod-paths.ts";
import { CONTAINER_NAME, POD_UID } from "#kubelet/runtime/labels.ts";
import type { PodVolumes } from "#kubelet/volumes/pod-volumes.ts";
import { messageOf } from "#lib/caught.ts";
import type { Logger } from "#lib/logger.ts";
import type { Clock } from "#lib/time/clock.ts";

const PERIOD_MS = 60_000;

export interface OrphansOptions {
  readonly runtime: Pick<
    RuntimeService,
    "listContainers" | "listPodSandbox" | "removeContainer" | "removePodSandbox"
  >;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly cgroups: Cgroups;
  readonly cgroupRoot: string;
  readonly volumes: Pick<PodVolumes, "tearDown">;
  readonly dra: Pick<DraManager, "unprepareOthers">;
  readonly paths: PodPaths;
  hasPod(uid: string): boolean;
  /** Everything of the pod has ended. */
  isOver(uid: string): boolean;
}

export async function runOrphanSweep(options: OrphansOptions, signal: AbortSignal): Promise<void> {
  const { clock, logger } = options;
  while (!signal.aborted) {
    try {
      await removeDeadContainers(options, false);
      await options.dra.unprepareOthers(options.hasPod);
      await removeOrphanFolders(options);
      await removeOrphanCgroups(options);
    } catch (error) {
      if (!signal.aborted) logger.warn("orphans were not removed", { why: messageOf(error) });
    }
    await clock.sleep(PERIOD_MS, signal).catch(() => undefined);
  }
}

/** `all`: under disk pressure also those of pods that are over. */
export async function removeDeadContainers(options: OrphansOptions, all: boolean): Promise<void> {
  const { runtime, hasPod, isOver } = options;
  const [{ containers }, { items }] = await Promise.all([
    runtime.listContainers({}),
    runtime.listPodSandbox({}),
  ]);
  const removals = decideRemovals({
    containers: containers
      .filter(({ labels }) => labels[POD_UID] !== undefined)
      .map(({ id, podSandboxId, labels, createdAt, state }) => ({
        ...{ id, sandboxId: podSandboxId, podUid: labels[POD_UID] ?? "" },
        ...{ name: labels[CONTAINER_NAME] ?? "", createdMs: Number(createdAt / 1_000_000n) },
        isRunning: state === CONTAINER_STATE.RUNNING || state === CONTAINER_STATE.CREATED,
      })),
    sandboxes: items
      .filter(({ labels }) => labels[POD_UID] !== undefined)
      .map(({ id, labels, createdAt, state }) => ({
        ...{ id, podUid: labels[POD_UID] ?? "", createdMs: Number(createdAt / 1_000_000n) },
        isReady: state === SANDBOX_STATE.READY,
      })),
    ...{ hasPod, isOver, all },
  });
  for (const id of removals.containers) await runtime.removeContainer({ containerId: id });
  for (const id of removals.sandboxes) await runtime.removePodSandbox({ podSandboxId: id });
}

async function removeOrphanFolders({
  paths,
  volumes,
  hasPod,
  logger,
}: OrphansOptions): Promise<void> {
  for (const uid of await listFolder(join(paths.root, "pods"))) {
    if (hasPod(uid)) continue;
    logger.info("the folder of a pod that is gone is removed", { uid });
    await volumes.tearDown(uid);
  }
  for (const name of await listFolder(paths.logs)) {
    const uid = name.split("_")[2];
    if (uid !== undefined && !hasPod(uid)) await removeTree(join(paths.logs, name));
  }
}

async function removeOrphanCgroups(options: OrphansOptions): Promise<void> {
  const { cgroups, cgroupRoot, hasPod, logger } = options;
  const { burstable, besteffort } = qosCgroups(cgroupRoot);
  for (const parent of [kubepodsCgroup(cgroupRoot), burstable, besteffort]) {
    for (const name of await cgroups.children(parent)) {
      const uid = /^pod(.+)$/.exec(name)?.[1];
      if (uid === undefined || hasPod(uid)) continue;
      logger.info("the cgroup of a pod that is gone is removed", { uid });
      await cgroups.remove(`${parent}/${name}`);
    }
  }
}
