/**
 * Which dead containers and sandboxes the runtime need not keep. The newest dead run of each
 * container of a pod that still exists stays, for its log and its last state; so does the newest
 * sandbox. Of pods that are gone nothing stays.
 */

export interface DeadContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly podUid: string;
  readonly name: string;
  readonly createdMs: number;
  readonly isRunning: boolean;
}

export interface KnownSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly createdMs: number;
  readonly isReady: boolean;
}

export interface DeadContainersInputs {
  readonly containers: readonly DeadContainer[];
  readonly sandboxes: readonly KnownSandbox[];
  /** Whether the node still has the pod. */
  readonly hasPod: (uid: string) => boolean;
  /** Whether everything of the pod has ended for good. */
  readonly isOver: (uid: string) => boolean;
  /** Under disk pressure the dead runs of pods that are over go too. */
  readonly all: boolean;
}

export interface Removals {
  readonly containers: readonly string[];
  readonly sandboxes: readonly string[];
}

/** Dead runs of one container that are kept beside its latest run. */
const DEAD_RUNS_KEPT = 1;

export function decideRemovals(inputs: DeadContainersInputs): Removals {
  const { containers, hasPod, isOver, all } = inputs;
  const seen = new Map<string, number>();
  const removed: DeadContainer[] = [];
  for (const container of [...containers].sort((a, b) => b.createdMs - a.createdMs)) {
    const key = `${container.podUid}/${container.name}`;
    const newer = seen.get(key) ?? 0;
    seen.set(key, newer + 1);
    if (container.isRunning) continue;
    const isGone = !hasPod(container.podUid) || (all && isOver(container.podUid));
    if (isGone || newer > DEAD_RUNS_KEPT) removed.push(container);
  }
  const left = new Set(
    containers.filter((one) => !removed.includes(one)).map(({ sandboxId }) => sandboxId),
  );
  return { containers: removed.map(({ id }) => id), sandboxes: deadSandboxes(inputs, left) };
}

/** A sandbox goes when no container is left in it and a newer one is there, or the pod is gone. */
function deadSandboxes(
  { sandboxes, hasPod, isOver, all }: DeadContainersInputs,
  left: ReadonlySet<string>,
): string[] {
  const hasNewer = new Set<string>();
  const removed: string[] = [];
  for (const { id, podUid, isReady } of [...sandboxes].sort((a, b) => b.createdMs - a.createdMs)) {
    const isNewest = !hasNewer.has(podUid);
    hasNewer.add(podUid);
    if (isReady || left.has(id)) continue;
    const isGone = !hasPod(podUid) || (all && isOver(podUid));
    if (isGone || !isNewest) removed.push(id);
  }
  return removed;
}
