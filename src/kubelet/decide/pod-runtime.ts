/** What the container runtime has of one pod, in the terms that decisions are made in. */

export interface SandboxState {
  readonly id: string;
  readonly isReady: boolean;
  readonly attempt: number;
  readonly createdMs: number;
  readonly usesHostNetwork: boolean;
  readonly ips: readonly string[];
}

export type RunState = "created" | "running" | "exited" | "unknown";

/** One run of a container: every restart is another one. */
export interface ContainerRun {
  readonly id: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly state: RunState;
  readonly createdMs: number;
  readonly startedMs: number;
  readonly finishedMs: number;
  readonly exitCode: number;
  /** Of the end: OOMKilled, Error, Completed, StartError. */
  readonly reason: string;
  readonly message: string;
  readonly image: string;
  readonly imageId: string;
  readonly restartCount: number;
  /** Of the spec that it was made from. */
  readonly hash: string;
  readonly user?: { uid: number; gid: number; supplementalGroups: readonly number[] } | undefined;
}

/** Newest first. */
export interface PodRuntime {
  readonly sandboxes: readonly SandboxState[];
  readonly runs: readonly ContainerRun[];
}

export const NOTHING_RUNS: PodRuntime = { sandboxes: [], runs: [] };

/** The latest run of a container. */
export function latestRun({ runs }: PodRuntime, name: string): ContainerRun | undefined {
  return runs.find((run) => run.name === name);
}

export function isAlive({ state }: ContainerRun): boolean {
  return state === "running" || state === "created";
}
