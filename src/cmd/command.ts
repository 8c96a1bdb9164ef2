import type { Option } from "commander";

/** A command of `k8ts`: one entry in the table of commands.ts. */
export interface Command {
  readonly name: string;
  /** One line for the overview. */
  readonly summary: string;
  /** For completion in a shell. */
  flags?(): readonly Option[];
  /** Lives until done or until the signal aborts; answers the exit code. */
  run(args: readonly string[], signal: AbortSignal): Promise<number>;
}
