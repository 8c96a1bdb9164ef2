/**
 * How a cluster in the background reports its start to the command that started it: JSON lines on a pipe
 * whose descriptor is in the environment. The command may end at any time; reports then go nowhere.
 */
import { closeSync, writeSync } from "node:fs";

/** Names the descriptor of the pipe. Removed from the environment when it is read. */
export const PROGRESS_VARIABLE = "K8TS_PROGRESS_FD";

export type Progress =
  | { readonly type: "component"; readonly name: string; readonly tookMs: number }
  /** A line for the person at the terminal. */
  | { readonly type: "note"; readonly text: string }
  | ReadyProgress;

export interface ReadyProgress {
  readonly type: "ready";
  readonly url: string;
  /** The kubeconfig in the data directory. */
  readonly kubeconfig: string;
  /** The context in the user's kubeconfig; undefined if it was not merged. */
  readonly context?: string | undefined;
  /** The URL of the dashboard; undefined if there is none. */
  readonly dashboard?: string | undefined;
  readonly pid: number;
  /** Whether the cluster has a node. */
  readonly node: boolean;
}

export type ReportProgress = (progress: Progress) => void;

/** Undefined unless this process was started in the background. Closes the pipe after "ready". */
export function progressOfProcess(environment: NodeJS.ProcessEnv): ReportProgress | undefined {
  const descriptor = Number(environment[PROGRESS_VARIABLE]);
  delete environment[PROGRESS_VARIABLE];
  if (!Number.isSafeInteger(descriptor) || descriptor < 3) return undefined;
  return (progress) => {
    try {
      writeSync(descriptor, `${JSON.stringify(progress)}\n`);
      if (progress.type === "ready") closeSync(descriptor);
    } catch {
      // The command has ended.
    }
  };
}

/** Undefined for a line that is no report. */
export function parseProgress(line: string): Progress | undefined {
  try {
    return JSON.parse(line) as Progress;
  } catch {
    return undefined;
  }
}
